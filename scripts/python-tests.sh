# What scripts/test-python, scripts/test-bulk and scripts/test-legacy share; they read it with `source`.

# Where all of it is, beside what scripts/wheel makes.
folder=$(realpath -m "${CARGO_TARGET_DIR:-target}/python")
pip=(-m pip install --quiet --disable-pip-version-check)

# environment NAME PYTHON REQUIREMENTS [PIP OPTION...]: a virtual environment with what a file of requirements
# names, which is made anew when the file changes. Sets `venv`. Status 77 where pip cannot install them.
environment() {
    local name=$1 python=$2 requirements=$3
    shift 3
    venv=$folder/$name-$(sha256sum "$requirements" | cut -c1-16)
    [ ! -e "$venv/complete" ] || return 0
    rm -rf "$folder/$name"-*
    "$python" -m venv "$venv" || return
    "$venv/bin/python" "${pip[@]}" "$@" -r "$requirements" || {
        echo "skipped: pip could not install $requirements" >&2
        return 77
    }
    touch "$venv/complete"
}

# installed NAME REQUIREMENTS [PIP OPTION...]: such an environment with the wheel, which is SALTERN_WHEEL if that is
# built already. Status 77 where it cannot be had.
installed() {
    local name=$1 requirements=$2 wheel=${SALTERN_WHEEL:-} python
    shift 2
    [ -n "$wheel" ] || wheel=$(scripts/wheel ${WHEEL_PROFILE---dev}) || return
    python=$(scripts/wheel --python) || return
    environment "$name" "$python" "$requirements" "$@" || return
    "$venv/bin/python" "${pip[@]}" --no-deps --force-reinstall "$wheel"
}

# run_pytest NAME IGNORED FOLDER [ARGUMENT...]: runs the tests of a folder in the environment, elsewhere than in
# python/, where the folder of the sources would be imported instead. The last line is as the runner of `cargo test`
# says it, for scripts/test; IGNORED is a pattern of what counts as that.
run_pytest() {
    local name=$1 ignored=$2 log=$folder/$1.log tests=$PWD/$3 repository=$PWD status=0 verdict=FAILED failed
    shift 3
    count() {
        tail -n 1 "$log" | awk -v what="$1" \
            '{ for (i = 2; i <= NF; i++) if ($i ~ what) n += $(i - 1) } END { print n + 0 }'
    }
    cd "$folder"
    SALTERN_REPOSITORY=$repository "$venv/bin/python" -m pytest -q -p no:cacheprovider --import-mode=importlib \
        --durations=5 "$tests" "$@" | tee "$log" || status=$?
    failed=$(count '^(failed|error)')
    [ "$failed" -ne 0 ] || verdict=ok
    echo "test result: $verdict. $(count '^passed') passed; $failed failed; $(count "$ignored") ignored; $name"
    return "$status"
}

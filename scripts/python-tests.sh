# What scripts/test-python and scripts/test-bulk share; they read it with `source`.

# environment NAME WHEEL REQUIREMENTS [PIP OPTION...]: installs a wheel beside what a file of requirements
# names, into a virtual environment of that name beside the wheel's folder, which is made anew when the file
# changes. Sets `folder`, below which all of this is, and `venv`. Status 1 where pip cannot install them.
environment() {
    local name=$1 wheel=$2 requirements=$3 pip=(-m pip install --quiet --disable-pip-version-check)
    shift 3
    folder=$(dirname "$(dirname "$wheel")")
    venv=$folder/$name-$(sha256sum "$requirements" | cut -c1-16)
    if ! [ -e "$venv/complete" ]; then
        rm -rf "$folder/$name"-*
        "$folder"/maturin-*/bin/python -c 'import sys; print(sys._base_executable)' >"$folder/base" &&
            "$(cat "$folder/base")" -m venv "$venv" || exit
        "$venv/bin/python" "${pip[@]}" "$@" -r "$requirements" || return 1
        touch "$venv/complete"
    fi
    "$venv/bin/python" "${pip[@]}" --no-deps --force-reinstall "$wheel" || exit
}

# verdict LOG IGNORED NAME: the last line of a log of pytest as the runner of `cargo test` says it, for
# scripts/test. IGNORED is a pattern of what counts as that.
verdict() {
    local failed verdict=FAILED log=$1
    count() {
        tail -n 1 "$log" | awk -v what="$1" \
            '{ for (i = 2; i <= NF; i++) if ($i ~ what) n += $(i - 1) } END { print n + 0 }'
    }
    failed=$(count '^(failed|error)')
    [ "$failed" -ne 0 ] || verdict=ok
    echo "test result: $verdict. $(count '^passed') passed; $failed failed; $(count "$2") ignored; $3"
}

//! Digests against programs that share no code with ours.

use super::{Bench, stdout, text};

/// Lengths around the blocks of all four functions, and one longer than any buffer.
const LENGTHS: [usize; 17] =
    [0, 1, 63, 64, 65, 127, 128, 129, 255, 256, 511, 512, 513, 1024, 4097, 131_073, 5_000_003];

fn bench() -> (Bench, Vec<String>) {
    let bench = Bench::new();
    let names: Vec<_> = LENGTHS.iter().map(|length| format!("f{length}")).collect();
    for (name, length) in names.iter().zip(LENGTHS) {
        let content: Vec<u8> = (0..length).map(|at| (at * 7 % 251) as u8).collect();
        bench.write(name.as_bytes(), &content);
    }
    (bench, names)
}

#[test]
fn openssl_gives_the_same_digests() {
    let (bench, names) = bench();
    for (algorithm, digest) in [("blake2b", "-blake2b512"), ("blake2s", "-blake2s256")] {
        let mut openssl = bench.command("openssl");
        openssl.args(["dgst", "-r", digest]).args(&names);
        let theirs = stdout(super::run(&mut openssl, b""));
        let mut args = vec!["-a", algorithm, "-b"];
        args.extend(names.iter().map(String::as_str));
        assert_eq!(text(&stdout(bench.saltern(&args, b""))), text(&theirs));
    }
}

/// Prints the digest of each file, for each pair of digest and key length.
const HASHLIB: &str = "
import hashlib, sys
make = getattr(hashlib, sys.argv[1])
for pair in sys.argv[2].split(','):
    size, key = map(int, pair.split('/'))
    for name in sys.argv[3:]:
        digest = make(open(name, 'rb').read(), digest_size=size, key=bytes(range(key)))
        print(digest.hexdigest() + '  ' + name)
";

#[test]
fn hashlib_gives_the_same_for_lengths_and_keys() {
    let (bench, names) = bench();
    let mut count = 0;
    for (algorithm, max) in [("blake2b", 64), ("blake2s", 32)] {
        let pairs: Vec<_> = (1..=max).map(|size| (size, size * 5 % (max + 1))).collect();
        let listed: Vec<_> = pairs.iter().map(|(size, key)| format!("{size}/{key}")).collect();
        let mut python = bench.command("python3");
        python.args(["-c", HASHLIB, algorithm, &listed.join(",")]).args(&names);
        let theirs = stdout(super::run(&mut python, b""));
        let mut ours = Vec::new();
        for (size, key) in pairs {
            let bits = (8 * size).to_string();
            let mut args = vec!["-a", algorithm, "-l", &bits];
            args.extend(names.iter().map(String::as_str));
            let key: Vec<u8> = (0..key as u8).collect();
            if !key.is_empty() {
                args.push("--keyed");
            }
            ours.extend(stdout(bench.saltern(&args, &key)));
            count += names.len();
        }
        assert_eq!(text(&ours), text(&theirs));
    }
    assert_eq!(count, 96 * LENGTHS.len());
}

/// BLAKE2bp and BLAKE2sp put together from the tree parameters of `hashlib`: leaves that take
/// blocks in turn, and a root over their digests. (With a key this does not work: their root knows
/// the length of the key and yet absorbs none, which `hashlib` cannot express.)
const HASHLIB_TREE: &str = "
import hashlib, sys
make, leaves, block = {'blake2bp': (hashlib.blake2b, 4, 128), 'blake2sp': (hashlib.blake2s, 8, 64)}[sys.argv[1]]
tree = dict(fanout=leaves, depth=2, leaf_size=0, inner_size=make().digest_size)
for path in sys.argv[2:]:
    data = open(path, 'rb').read()
    root = make(node_depth=1, last_node=True, **tree)
    for leaf in range(leaves):
        part = b''.join(data[i:i + block] for i in range(leaf * block, len(data), leaves * block))
        root.update(make(part, node_offset=leaf, last_node=leaf == leaves - 1, **tree).digest())
    print(root.hexdigest() + '  ' + path)
";

#[test]
fn bp_and_sp_are_the_trees_that_hashlib_builds() {
    let (bench, names) = bench();
    for algorithm in ["blake2bp", "blake2sp"] {
        let mut python = bench.command("python3");
        python.args(["-c", HASHLIB_TREE, algorithm]).args(&names);
        let theirs = stdout(super::run(&mut python, b""));
        let mut args = vec!["-a", algorithm];
        args.extend(names.iter().map(String::as_str));
        assert_eq!(text(&stdout(bench.saltern(&args, b""))), text(&theirs), "{algorithm}");
    }
}

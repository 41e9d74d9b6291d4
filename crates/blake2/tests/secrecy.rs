//! No branch and no address depends on a key, a message or a digest, at any level. Valgrind
//! watches, which knows AVX2 but not AVX-512.

use saltern_blake2::{Level, blake2b, blake2bp, blake2s, blake2sp, blake2xb, blake2xs, many};
use saltern_testing::secrecy::{hide, leaks, reveal};

/// Whole, in pieces, and compared.
macro_rules! secrecy_of {
    ($name:ident, $module:ident) => {
        #[test]
        fn $name() {
            let (mut key, mut message) = ([7; 32], vec![3; 9000]);
            hide(&mut key);
            hide(&mut message);
            for level in Level::available() {
                for length in [0, 1, 64, 127, 1000, 9000] {
                    let mut equal = false;
                    let leaks = leaks(|| {
                        let params =
                            $module::Params::new().key(&key).unwrap().level(level).unwrap();
                        let whole = params.hash(&message[..length]);
                        let (head, tail) = message[..length].split_at(length / 3);
                        let pieces = params.to_hasher().update(head).update(tail).finalize();
                        equal = reveal(whole == pieces);
                    });
                    assert_eq!((leaks, equal), (0, true), "{level} {length}");
                }
            }
        }
    };
}

secrecy_of!(secrecy_of_blake2b, blake2b);
secrecy_of!(secrecy_of_blake2s, blake2s);
secrecy_of!(secrecy_of_blake2bp, blake2bp);
secrecy_of!(secrecy_of_blake2sp, blake2sp);

#[test]
fn secrecy_of_many_messages_and_of_long_outputs() {
    let (mut key, mut message) = ([7; 32], vec![3; 700]);
    hide(&mut key);
    hide(&mut message);
    for level in Level::available() {
        let leaks = leaks(|| {
            let params = blake2b::Params::new().key(&key).unwrap().level(level).unwrap();
            let mut jobs: Vec<_> =
                (0..40).map(|n| many::Job::new(&params, &message[..17 * n])).collect();
            many::hash_many(&mut jobs);
            assert!(reveal(jobs[9].hash() == params.hash(&message[..17 * 9])));
            let params = blake2s::Params::new().key(&key).unwrap().level(level).unwrap();
            let hashes = params.hash_many(&[&message[..100]; 40]);
            assert!(reveal(hashes[9] == params.hash(&message[..100])));
            let mut output = [0; 200];
            let params = blake2xb::Params::new().key(&key).unwrap().level(level).unwrap();
            params.to_hasher().update(&message).finalize().fill(&mut output).unwrap();
            let params = blake2xs::Params::new().key(&key).unwrap().level(level).unwrap();
            params.to_hasher().update(&message).finalize().fill(&mut output).unwrap();
        });
        assert_eq!(leaks, 0, "{level}");
    }
}

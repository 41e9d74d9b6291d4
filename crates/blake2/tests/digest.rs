//! The traits of the `digest` crate.

use digest::{Digest, KeyInit, Mac};
use saltern_blake2::digest::{Blake2b256, Blake2b512, Blake2b512Mac, Blake2s256, Blake2s256Mac};
use saltern_blake2::{blake2b, blake2s};

fn generic<D: Digest>(data: &[u8]) -> Vec<u8> {
    let mut hasher = D::new();
    let (head, tail) = data.split_at(data.len() / 3);
    hasher.update(head);
    hasher.update(tail);
    hasher.finalize().to_vec()
}

#[test]
fn digests_equal_the_functions() {
    let data = [0x5A; 1000];
    let b256 = blake2b::Params::new().hash_length(32).unwrap();
    assert_eq!(generic::<Blake2b512>(&data), blake2b::hash(&data).as_bytes());
    assert_eq!(generic::<Blake2b256>(&data), b256.hash(&data).as_bytes());
    assert_eq!(generic::<Blake2s256>(&data), blake2s::hash(&data).as_bytes());
    let mut twice = Blake2s256::new();
    Digest::update(&mut twice, b"abc");
    let first = twice.finalize_reset();
    Digest::update(&mut twice, b"abc");
    assert_eq!(first, twice.finalize());
}

#[test]
fn macs_equal_keyed_hashes_and_refuse_wrong_tags() {
    let key = [3; 64];
    let expected = blake2b::Params::new().key(&key).unwrap().hash(b"message");
    let mac = <Blake2b512Mac as KeyInit>::new(&key.into()).chain_update(b"message");
    assert_eq!(expected, &mac.clone().finalize().into_bytes()[..]);
    assert!(mac.clone().verify_slice(expected.as_bytes()).is_ok());
    assert!(mac.verify_slice(&[0; 64]).is_err());
    assert!(Blake2s256Mac::new_from_slice(&[0; 33]).is_err());
    let short = Blake2s256Mac::new_from_slice(b"short").unwrap().chain_update(b"m");
    let expected = blake2s::Params::new().key(b"short").unwrap().hash(b"m");
    assert_eq!(expected, &short.finalize().into_bytes()[..]);
}

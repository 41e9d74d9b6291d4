//! The names of the crate `blake2` and the traits of the crate `digest`.

use saltern_blake2::digest::consts::U20;
use saltern_blake2::digest::{
    Digest, ExtendableOutput, KeyInit, Mac, TryCustomizedInit, Update, XofReader,
};
use saltern_blake2::rustcrypto::{
    Blake2b, Blake2b256, Blake2b512, Blake2bMac512, Blake2bp512, Blake2s256, Blake2sMac256,
    Blake2sp256, Blake2spMac, Blake2xb, Blake2xs,
};
use saltern_blake2::{Error, blake2b, blake2bp, blake2s, blake2sp, blake2xb, blake2xs};

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
    assert_eq!(generic::<Blake2bp512>(&data), blake2bp::hash(&data).as_bytes());
    assert_eq!(generic::<Blake2sp256>(&data), blake2sp::hash(&data).as_bytes());
    let b160 = blake2b::Params::new().hash_length(20).unwrap();
    assert_eq!(generic::<Blake2b<U20>>(&data), b160.hash(&data).as_bytes());
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
    let mac = <Blake2bMac512 as KeyInit>::new(&key.into()).chain_update(b"message");
    assert_eq!(expected, &mac.clone().finalize().into_bytes()[..]);
    assert!(mac.clone().verify_slice(expected.as_bytes()).is_ok());
    assert!(mac.verify_slice(&[0; 64]).is_err());
    assert!(Blake2sMac256::new_from_slice(&[0; 33]).is_err());
    let short = Blake2sMac256::new_from_slice(b"short").unwrap().chain_update(b"m");
    let expected = blake2s::Params::new().key(b"short").unwrap().hash(b"m");
    assert_eq!(expected, &short.finalize().into_bytes()[..]);
}

#[test]
fn a_mac_needs_a_key() {
    assert!(Blake2bMac512::new_from_slice(b"").is_err());
    assert!(Blake2sMac256::new_from_slice(b"").is_err());
    assert!(Blake2spMac::<U20>::new_from_slice(b"").is_err());
    assert!(Blake2bMac512::new_with_salt_and_personal(b"", b"salt", b"personal").is_err());
}

#[test]
fn salt_and_personalisation_are_those_of_the_parameters() {
    let params = blake2b::Params::new().personal(b"personal").unwrap();
    let hash = Blake2b512::try_new_customized(b"personal").unwrap().chain_update(b"m").finalize();
    assert_eq!(params.hash(b"m"), &hash[..]);
    let salted = Blake2b512::with_salt_and_personal(b"salt", b"personal").unwrap();
    let params = params.salt(b"salt").unwrap();
    assert_eq!(params.hash(b"m"), &salted.chain_update(b"m").finalize()[..]);
    let mac = Blake2bMac512::new_with_salt_and_personal(b"key", b"salt", b"personal").unwrap();
    let tag = Mac::chain_update(mac, b"m").finalize().into_bytes();
    assert_eq!(params.key(b"key").unwrap().hash(b"m"), &tag[..]);
    let error = Blake2s256::try_new_customized(b"too long!").unwrap_err();
    assert_eq!(error, Error::PersonalLength { length: 9, max: 8 });
}

#[test]
fn extendable_output_is_that_of_blake2x() {
    let mut expected = [0; 300];
    let mut hasher = blake2xb::Params::new().to_hasher();
    hasher.update(b"seed").finalize().fill(&mut expected).unwrap();
    let mut out = [0; 300];
    let mut start = Blake2xb::default();
    Update::update(&mut start, b"se");
    let mut reader = start.chain(b"ed").finalize_xof();
    let (head, tail) = out.split_at_mut(77);
    reader.read(head);
    reader.read(tail);
    assert_eq!(out, expected);
    blake2xs::Params::new().to_hasher().update(b"seed").finalize().fill(&mut expected).unwrap();
    Blake2xs::digest_xof(b"seed", &mut out);
    assert_eq!(out, expected);
}

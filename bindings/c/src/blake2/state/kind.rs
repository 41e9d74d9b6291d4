//! Differences between BLAKE2b and BLAKE2s in the C structs, and their parameter blocks.

use saltern_blake2::{Blake2b, Blake2s, Variant};

use super::State;

/// BLAKE2b or BLAKE2s.
pub trait Kind: Variant {
    /// `blake2b_param` or `blake2s_param`, as bytes: it is packed.
    type Param: Copy + AsRef<[u8]> + AsMut<[u8]>;
    const NO_PARAM: Self::Param;
    /// The states of the leaves of BLAKE2bp or BLAKE2sp.
    type Leaves: Copy + AsRef<[State<Self>]> + AsMut<[State<Self>]>;
    /// Bytes of a BLAKE2X length in the parameter block.
    const XOF_LENGTH: usize = Self::XOF_LENGTH_BITS as usize / 8;

    /// The states of the leaves, each from its number.
    fn leaves(leaf: impl Fn(usize) -> State<Self>) -> Self::Leaves;
}

impl Kind for Blake2b {
    type Param = [u8; 64];
    const NO_PARAM: [u8; 64] = [0; 64];
    type Leaves = [State<Self>; 4];

    fn leaves(leaf: impl Fn(usize) -> State<Self>) -> Self::Leaves {
        std::array::from_fn(leaf)
    }
}

impl Kind for Blake2s {
    type Param = [u8; 32];
    const NO_PARAM: [u8; 32] = [0; 32];
    type Leaves = [State<Self>; 8];

    fn leaves(leaf: impl Fn(usize) -> State<Self>) -> Self::Leaves {
        std::array::from_fn(leaf)
    }
}

/// Offsets of fields in a parameter block. The node offset has four bytes in both, as in the C
/// structs.
const LEAF_LENGTH: usize = 4;
const NODE_OFFSET: usize = 8;
const XOF_LENGTH: usize = 12;

/// Output and key lengths, fanout and depth; all else 0.
pub(in crate::blake2) fn params<K: Kind>(
    outlen: usize,
    keylen: usize,
    fanout: u8,
    depth: u8,
) -> K::Param {
    let mut block = K::NO_PARAM;
    block.as_mut()[..4].copy_from_slice(&[outlen as u8, keylen as u8, fanout, depth]);
    block
}

pub(in crate::blake2) fn set_leaf_length<K: Kind>(params: &mut K::Param, length: u32) {
    params.as_mut()[LEAF_LENGTH..NODE_OFFSET].copy_from_slice(&length.to_le_bytes());
}

pub(in crate::blake2) fn set_node_offset<K: Kind>(params: &mut K::Param, offset: u32) {
    params.as_mut()[NODE_OFFSET..XOF_LENGTH].copy_from_slice(&offset.to_le_bytes());
}

/// The length of a BLAKE2X output, of which BLAKE2s has two bytes.
pub(in crate::blake2) fn set_xof_length<K: Kind>(params: &mut K::Param, length: u32) {
    let bytes = &length.to_le_bytes()[..K::XOF_LENGTH];
    params.as_mut()[XOF_LENGTH..][..K::XOF_LENGTH].copy_from_slice(bytes);
}

pub(in crate::blake2) fn xof_length<K: Kind>(params: &K::Param) -> u32 {
    let mut bytes = [0; 4];
    bytes[..K::XOF_LENGTH].copy_from_slice(&params.as_ref()[XOF_LENGTH..][..K::XOF_LENGTH]);
    u32::from_le_bytes(bytes)
}

/// The depth of the node, and the length of inner hashes.
pub(in crate::blake2) fn set_node<K: Kind>(params: &mut K::Param, depth: u8, inner: usize) {
    let at = XOF_LENGTH + K::XOF_LENGTH;
    params.as_mut()[at..at + 2].copy_from_slice(&[depth, inner as u8]);
}

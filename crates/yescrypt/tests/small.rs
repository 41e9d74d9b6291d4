//! The smallest hashes of each mode on every level: short enough for Miri (`scripts/test miri`),
//! which checks the kernels' pointers, the memory region and the tables.

use saltern_testing::hex::unhex;
use saltern_yescrypt::{Limits, Params, Workspace, derive, hazmat::Level, params::Mode};

/// Mode, N, r, p, t, and the 32 bytes that crypt(3) (libxcrypt 4.4.33) derives from `password` and
/// `salt`.
const CASES: [(Mode, u64, u32, u32, u32, &str); 4] = [
    (Mode::Classic, 4, 1, 2, 0, "89fd95bc94b200c0de46e80ed609399f114945306cef211b3d2bc32696ab2cd9"),
    (Mode::Worm, 4, 2, 1, 1, "e51646bbf7f257c4e2533b08251d15b327875551b697b0891618608867fdbb3b"),
    (Mode::Rw, 4, 1, 1, 0, "fd1e18474c4bf31b929580cf75a70441166a21e08bf50341977a4fcc34aec9b5"),
    (Mode::Rw, 8, 2, 2, 1, "ad6660ca563d57455173550aa678a55de972bed991ddb9c36b63f2fd0ce14145"),
];

#[test]
fn the_smallest_hashes_are_right() {
    let mut computed = 0;
    let levels: Vec<Level> = Level::available().collect();
    // Miri takes minutes for the tables of S-boxes of one hash.
    let cases = if cfg!(miri) { &CASES[..3] } else { &CASES[..] };
    for &level in &levels {
        let mut workspace = Workspace::with_level(level).unwrap();
        for (mode, n, r, p, t, expected) in cases.iter().copied() {
            let mut params = Params::new(mode, n, r);
            (params.p, params.t) = (p, t);
            let params = params.check(&Limits::unlimited()).unwrap();
            let mut out = [0; 32];
            derive(b"password", b"salt", &params, None, &mut workspace, &mut out).unwrap();
            assert_eq!(out, *unhex(expected), "{level} {mode:?} N {n}, r {r}, p {p}, t {t}");
            computed += 1;
        }
    }
    assert_eq!(computed, cases.len() * levels.len());
}

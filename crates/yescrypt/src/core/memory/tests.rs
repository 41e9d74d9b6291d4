//! What workspaces and images of ROMs leave behind: nothing.

use std::vec::Vec;

use super::region::tests::given_back;
use crate::core::batch::derive_many;
use crate::core::fill::RomParams;
use crate::core::kdf::derive;
use crate::core::params::{CheckedParams, Mode, Params};
use crate::core::pass::Derivation;
use crate::core::rom::RomImage;
use crate::core::workspace::Workspace;

fn checked(params: &Params) -> CheckedParams {
    params.checked().unwrap()
}

fn run(params: &CheckedParams, workspace: &mut Workspace) {
    derive(b"p", b"s", params, None, workspace, &mut [0; 32]).unwrap();
}

/// Memory is wiped before it goes back to the system: on growing, on wiping, on drop.
#[test]
fn memory_that_goes_back_to_the_system_is_zero() {
    let (small, large) = (checked(&Params::yescrypt(64, 8)), checked(&Params::yescrypt(512, 8)));
    let grown = given_back(|| {
        let mut workspace = Workspace::new();
        run(&small, &mut workspace);
        run(&large, &mut workspace);
    });
    assert_eq!(grown, (2, 0), "regions given back, and those not wiped");
    let batch = given_back(|| {
        let mut workspace = Workspace::new();
        workspace.set_threads(2);
        let mut outs = [[0; 32]; 5];
        let jobs = outs.iter_mut().map(|out| Derivation { password: b"p", salt: b"s", out });
        derive_many(&mut jobs.collect::<Vec<_>>(), &small, None, &mut workspace).unwrap();
        workspace.wipe();
    });
    assert_eq!(batch, (1, 0));
    let rom = given_back(|| {
        let mut workspace = Workspace::new();
        let image = RomImage::init(&RomParams::new(64, 8, 2), b"seed", &mut workspace).unwrap();
        assert!(image.as_bytes().iter().any(|byte| *byte != 0));
    });
    assert_eq!(rom, (2, 0));
    for mode in [Mode::Classic, Mode::Worm] {
        let params = checked(&Params::new(mode, 64, 8));
        assert_eq!(given_back(|| run(&params, &mut Workspace::new())), (1, 0));
    }
}

//! The ROMs of cases, and what cases of all kinds are computed with.

use saltern_yescrypt::escrypt::{EscryptRomParams, init_rom};
use saltern_yescrypt::{
    Limits, Params, Workspace,
    params::{Flavor, Mode},
    rom::{RomImage, RomParams, RomView},
};

use super::case::{Case, Constants, RomCase};
use super::outcome::{Ceiling, Failure, Result, narrow, refused};

/// What cases are computed with.
pub(super) struct Workshop {
    pub(super) workspace: Workspace,
    pub(super) ceiling: Ceiling,
    /// The ROM that was built last, since neighbouring cases use the same.
    rom: Option<MadeRom>,
}

/// A ROM and what it was made from.
pub(super) struct MadeRom {
    is_escrypt: bool,
    case: RomCase,
    constants: Option<Constants>,
    pub(super) image: RomImage,
    pub(super) digest: Vec<u8>,
}

impl Workshop {
    pub(super) fn new(workspace: Workspace, ceiling: Ceiling) -> Self {
        Workshop { workspace, ceiling, rom: None }
    }

    /// Call `act` with the ROM that the case names, if it names one, with the byte of `poke`
    /// changed.
    pub(super) fn attach<T>(
        &mut self,
        case: &Case,
        act: impl FnOnce(
            Option<&RomImage>,
            &mut Workspace,
        ) -> std::result::Result<T, saltern_yescrypt::Error>,
    ) -> Result<T> {
        let Some(rom) = &case.rom else {
            return act(None, &mut self.workspace).map_err(refused);
        };
        self.make(rom.clone(), case)?;
        let Workshop { workspace, rom: Some(made), .. } = self else {
            return Err(Failure::Unsupported);
        };
        poke(&mut made.image, case)?;
        let result = act(Some(&made.image), workspace);
        poke(&mut made.image, case)?;
        result.map_err(refused)
    }

    /// The ROM of these inputs, with the constants of the case.
    pub(super) fn make(&mut self, rom: RomCase, case: &Case) -> Result<&MadeRom> {
        let (is_escrypt, constants) = (case.is_escrypt(), case.constants.clone());
        let is_known = |made: &MadeRom| {
            made.is_escrypt == is_escrypt && made.case == rom && made.constants == constants
        };
        let made = match self.rom.take().filter(is_known) {
            Some(made) => made,
            None => {
                let build = if is_escrypt { build_escrypt } else { build };
                let (image, digest) =
                    build(&rom, constants.as_ref(), &self.ceiling, &mut self.workspace)?;
                MadeRom { is_escrypt, case: rom, constants, image, digest }
            }
        };
        Ok(self.rom.insert(made))
    }
}

fn build(
    rom: &RomCase,
    constants: Option<&Constants>,
    ceiling: &Ceiling,
    workspace: &mut Workspace,
) -> Result<(RomImage, Vec<u8>)> {
    let (mode, flavor) = mode_and_flavor(rom.flags, constants)?;
    if mode != Mode::Rw {
        return Err(Failure::Refused(format!("flags = {}: a ROM needs the RW mode", rom.flags)));
    }
    let mut params = RomParams::new(rom.nrom, narrow(rom.r, "r")?, narrow(rom.p, "p")?);
    params.t = narrow(rom.t, "t")?;
    params.flavor = flavor;
    // What no ROM has is refused as such, whatever its size.
    let mut blocks = Params::new(Mode::Rw, rom.nrom, params.r);
    (blocks.p, blocks.t, blocks.flavor) = (params.p, params.t, flavor);
    blocks.check(&Limits::unlimited()).map_err(refused)?;
    ceiling.check("the ROM", params.size().into())?;
    let image = RomImage::init(&params, &rom.seed.0, workspace).map_err(refused)?;
    let digest = RomView::new(&image).map_err(refused)?.digest().to_vec();
    Ok((image, digest))
}

/// A ROM of escrypt with its digest.
fn build_escrypt(
    rom: &RomCase,
    constants: Option<&Constants>,
    ceiling: &Ceiling,
    workspace: &mut Workspace,
) -> Result<(RomImage, Vec<u8>)> {
    let mut params = EscryptRomParams::new(rom.n, narrow(rom.r, "r")?, narrow(rom.p, "p")?);
    params.flavor = escrypt_flavor(constants)?;
    ceiling.check("the ROM", params.size().into())?;
    let bytes = usize::try_from(params.size()).unwrap_or(usize::MAX);
    let mut image = RomImage::zeroed(bytes).map_err(refused)?;
    let mut digest = ceiling.output(rom.digest_len)?;
    workspace.set_threads(std::thread::available_parallelism().map_or(1, usize::from));
    let filled = init_rom(&params, &rom.seed.0, image.as_bytes_mut(), workspace, &mut digest);
    workspace.set_threads(1);
    filled.map_err(refused)?;
    Ok((image, digest))
}

/// Change the byte that the case names; doing it twice restores the image.
fn poke(image: &mut RomImage, case: &Case) -> Result<()> {
    let Some((offset, mask)) = case.poke else { return Ok(()) };
    let byte = usize::try_from(offset).ok().and_then(|offset| image.as_bytes_mut().get_mut(offset));
    *byte.ok_or_else(|| Failure::Refused(format!("poke: the ROM has no byte {offset}")))? ^= mask;
    Ok(())
}

/// Mode and flavour of a flags word; explicit constants take the place of its flavour.
pub(super) fn mode_and_flavor(flags: u64, constants: Option<&Constants>) -> Result<(Mode, Flavor)> {
    let (mode, flavor) = Params::from_flags(narrow(flags, "flags")?).map_err(refused)?;
    let Some(constants) = constants else { return Ok((mode, flavor)) };
    let Constants { rounds, gather, simple, sbox_bytes, salsa_main, salsa_pwx, .. } = *constants;
    let flavor = Flavor::new(rounds, gather, simple, sbox_bytes)
        .and_then(|flavor| flavor.with_salsa(salsa_main, salsa_pwx))
        .map_err(refused)?;
    Ok((mode, flavor))
}

/// Those of escrypt, or the ones of a rebuilt reference.
pub(super) fn escrypt_flavor(constants: Option<&Constants>) -> Result<Flavor> {
    let Some(constants) = constants else { return Ok(Flavor::ESCRYPT) };
    let Constants { bits, simd, groups, s_rounds, salsa, .. } = *constants;
    Flavor::escrypt(bits, simd, groups, s_rounds, salsa).map_err(refused)
}

//! Compute a case from its inputs.

use saltern_yescrypt::{
    Hasher, Limits, Params, Scheme, Setting, Workspace, derive,
    hazmat::Level,
    hazmat::reencrypt,
    keys::HashKey,
    params::{Flavor, Mode},
    rom::{Rom, RomImage, RomParams, RomView},
};

use super::blake2;
use super::case::{Case, Constants, RomCase};
use super::escrypt;
use super::outcome::{Answer, Ceiling, Failure, Result, copy, narrow, refused};

/// Computes cases one after the other with the same memory.
pub(super) struct Solver {
    workspace: Workspace,
    roms: RomCache,
    escrypt_roms: escrypt::RomCache,
    ceiling: Ceiling,
    level: Option<Level>,
}

impl Solver {
    /// Refuse cases that take more than `max_memory` bytes for working memory, ROM or output.
    /// `level` is the one asked for, which the workspace has already.
    pub(super) fn new(workspace: Workspace, level: Option<Level>, max_memory: u64) -> Solver {
        Solver {
            workspace,
            roms: RomCache::default(),
            escrypt_roms: escrypt::RomCache::default(),
            ceiling: Ceiling(max_memory),
            level,
        }
    }

    /// The result of a case, from its inputs alone.
    pub(super) fn answer(&mut self, case: &Case) -> Result<Answer> {
        if let Some(inputs) = &case.blake2 {
            let stated = case.expected.out.as_ref().map(|out| out.len() / 2);
            return blake2::answer(case.base_kind().0, inputs, stated, self.level);
        }
        if let Some(inputs) = &case.escrypt {
            let Solver { workspace, escrypt_roms: roms, ceiling, .. } = self;
            return escrypt::Solver { workspace, roms, ceiling }.answer(case.base_kind().0, inputs);
        }
        match case.base_kind().0 {
            "kdf" => self.kdf(case),
            "rom" => self.rom(case),
            "crypt" => self.crypt(case),
            "encode" => encode(case),
            "gensalt" => gensalt(case),
            "reencrypt" => reencrypt_case(case),
            _ => Err(Failure::Unsupported),
        }
    }

    fn kdf(&mut self, case: &Case) -> Result<Answer> {
        let params = params(case)?.check(&Limits::unlimited()).map_err(refused)?;
        params.check_output(case.dk_len).map_err(refused)?;
        self.ceiling.check("the working memory", u128::from(params.memory()))?;
        let mut out = self.ceiling.output(case.dk_len)?;
        let workspace = &mut self.workspace;
        self.roms.attach(case, &self.ceiling, workspace, |rom, workspace| {
            let rom = rom.map(RomView::new).transpose()?;
            derive(&case.password.0, &case.salt.0, &params, rom.as_ref(), workspace, &mut out)
        })?;
        Ok(Answer::bytes(&out))
    }

    fn rom(&mut self, case: &Case) -> Result<Answer> {
        let image = self.roms.image(case.as_rom(), case, &self.ceiling, &mut self.workspace)?;
        let digest = RomView::new(image).map_err(refused)?.digest();
        Ok(Answer::rom(image, &digest))
    }

    fn crypt(&mut self, case: &Case) -> Result<Answer> {
        let setting = Setting::parse(case.setting()).map_err(refused)?;
        let params = setting.params().check(&Limits::unlimited()).map_err(refused)?;
        self.ceiling.check("the working memory", u128::from(params.memory()))?;
        if case.rom.is_some() && setting.params().nrom == 0 {
            return Err(Failure::Refused("a ROM is given but the setting names none".to_owned()));
        }
        let key = key(&case.key.0)?;
        let workspace = &mut self.workspace;
        let text = self.roms.attach(case, &self.ceiling, workspace, |rom, workspace| {
            let mut hasher = Hasher::new().with_limits(Limits::unlimited());
            if let Some(rom) = rom {
                hasher = hasher.with_rom(Rom::new(copy(rom)?)?);
            }
            if let Some(key) = key {
                hasher = hasher.assuming_unnamed_key(key);
            }
            hasher.hash_with_setting(workspace, &case.password.0, case.setting())
        })?;
        text_in_buffer(text.into_bytes(), case)
    }
}

/// The ROM that was built last, since neighbouring cases use the same.
#[derive(Default)]
struct RomCache(Option<(RomCase, Option<Constants>, RomImage)>);

impl RomCache {
    /// Call `act` with the ROM that the case names, if it names one, with the byte of `poke`
    /// changed.
    fn attach<T>(
        &mut self,
        case: &Case,
        ceiling: &Ceiling,
        workspace: &mut Workspace,
        act: impl FnOnce(
            Option<&RomImage>,
            &mut Workspace,
        ) -> std::result::Result<T, saltern_yescrypt::Error>,
    ) -> Result<T> {
        let Some(rom_case) = &case.rom else {
            return act(None, workspace).map_err(refused);
        };
        let image = self.image(rom_case.clone(), case, ceiling, workspace)?;
        poke(image, case)?;
        let result = act(Some(image), workspace);
        poke(image, case)?;
        result.map_err(refused)
    }

    /// The ROM of these inputs, with the constants of the case.
    fn image(
        &mut self,
        rom: RomCase,
        case: &Case,
        ceiling: &Ceiling,
        workspace: &mut Workspace,
    ) -> Result<&mut RomImage> {
        let constants = &case.constants;
        let known = |(known, with, _): &(RomCase, Option<Constants>, RomImage)| {
            *known == rom && with == constants
        };
        let kept = self.0.take().filter(known);
        let kept = match kept {
            Some(kept) => kept,
            None => {
                let image = build(&rom, constants.as_ref(), ceiling, workspace)?;
                (rom, constants.clone(), image)
            }
        };
        Ok(&mut self.0.insert(kept).2)
    }
}

fn build(
    rom: &RomCase,
    constants: Option<&Constants>,
    ceiling: &Ceiling,
    workspace: &mut Workspace,
) -> Result<RomImage> {
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
    RomImage::init(&params, &rom.seed.0, workspace).map_err(refused)
}

/// Change the byte that the case names; doing it twice restores the image.
fn poke(image: &mut RomImage, case: &Case) -> Result<()> {
    let Some((offset, mask)) = case.poke else { return Ok(()) };
    let byte = usize::try_from(offset).ok().and_then(|offset| image.as_bytes_mut().get_mut(offset));
    *byte.ok_or_else(|| Failure::Refused(format!("poke: the ROM has no byte {offset}")))? ^= mask;
    Ok(())
}

/// Mode and flavour of a flags word; explicit constants take the place of its flavour.
fn mode_and_flavor(flags: u64, constants: Option<&Constants>) -> Result<(Mode, Flavor)> {
    let (mode, flavor) = Params::from_flags(narrow(flags, "flags")?).map_err(refused)?;
    let Some(constants) = constants else { return Ok((mode, flavor)) };
    let Constants { rounds, gather, simple, sbox_bytes, salsa_main, salsa_pwx } = *constants;
    let flavor = Flavor::new(rounds, gather, simple, sbox_bytes)
        .and_then(|flavor| flavor.with_salsa(salsa_main, salsa_pwx))
        .map_err(refused)?;
    Ok((mode, flavor))
}

fn params(case: &Case) -> Result<Params> {
    let (mode, flavor) = mode_and_flavor(case.flags, case.constants.as_ref())?;
    let mut params = Params::new(mode, case.n, narrow(case.r, "r")?);
    params.flavor = flavor;
    params.p = narrow(case.p, "p")?;
    params.t = narrow(case.t, "t")?;
    params.g = narrow(case.g, "g")?;
    params.nrom = case.nrom;
    Ok(params)
}

fn key(bytes: &[u8]) -> Result<Option<HashKey>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    HashKey::from_slice(bytes).map(Some).map_err(refused)
}

fn encode(case: &Case) -> Result<Answer> {
    let setting = Setting::encode(&params(case)?, &case.salt.0).map_err(refused)?;
    text_in_buffer(setting.into_bytes(), case)
}

/// A setting from a cost number. Those of `$gy$` are the ones of `$y$` with a letter more.
fn gensalt(case: &Case) -> Result<Answer> {
    let (scheme, letter) = match case.prefix.as_str() {
        "$y$" => (Scheme::Yescrypt, ""),
        "$gy$" => (Scheme::Yescrypt, "g"),
        "$7$" => (Scheme::Scrypt, ""),
        _ => return Err(Failure::Unsupported),
    };
    let setting = Setting::from_cost(scheme, narrow(case.cost, "cost")?, &case.random.0);
    let setting = setting.map_err(refused)?;
    let (dollar, rest) = setting.as_bytes().split_at(1);
    text_in_buffer([dollar, letter.as_bytes(), rest].concat(), case)
}

fn reencrypt_case(case: &Case) -> Result<Answer> {
    let (from, to) = (key(&case.from_key.0)?, key(&case.to_key.0)?);
    let text = reencrypt(case.hash.as_bytes(), from.as_ref(), to.as_ref()).map_err(refused)?;
    text_in_buffer(text.into_bytes(), case)
}

/// A string as the answer, if it fits the buffer of the case together with a terminating zero.
fn text_in_buffer(text: Vec<u8>, case: &Case) -> Result<Answer> {
    let need = text.len() as u64 + 1;
    if let Some(size) = case.buflen.filter(|&size| size < need) {
        let reason = format!("buflen = {size}: the result and a zero byte take {need} bytes");
        return Err(Failure::Refused(reason));
    }
    Ok(Answer::text(text))
}

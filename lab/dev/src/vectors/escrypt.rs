//! The kinds of escrypt 0.5.

use saltern_yescrypt::escrypt::{EscryptRomParams, encode_setting, init_rom};
use saltern_yescrypt::{
    Hasher, Limits, Params, Scheme, Setting, Workspace,
    params::{Flags, Flavor, Mode},
    rom::{Rom, RomImage, RomMasks, RomReading, RomUse, RomView, derive_with_roms},
};
use serde::Deserialize;

use super::outcome::{Answer, Bytes, Ceiling, Failure, Result, copy, narrow, refused};

/// Inputs of a case.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Inputs {
    password: Bytes,
    salt: Bytes,
    seed: Bytes,
    flags: u64,
    #[serde(rename = "N")]
    n: u64,
    #[serde(rename = "N_log2")]
    log2_n: u64,
    r: u64,
    p: u64,
    t: u64,
    #[serde(rename = "dkLen")]
    dk_len: u64,
    setting: String,
    digest_len: u64,
    rom: Option<RomInputs>,
    mask: u32,
    constants: Option<Constants>,
}

/// Inputs of a ROM initialisation.
#[derive(Clone, PartialEq, Eq, Deserialize)]
struct RomInputs {
    seed: Bytes,
    #[serde(rename = "N")]
    n: u64,
    r: u64,
    p: u64,
    digest_len: u64,
}

/// Constants of a rebuilt reference.
#[derive(Clone, PartialEq, Eq, Deserialize)]
struct Constants {
    #[serde(rename = "S_BITS")]
    bits: u32,
    #[serde(rename = "S_SIMD")]
    simd: u32,
    #[serde(rename = "S_P")]
    groups: u32,
    #[serde(rename = "S_ROUNDS")]
    rounds: u32,
    salsa: u32,
}

/// Whether a kind, without `_reject`, is one of these.
pub(super) fn is_kind(kind: &str) -> bool {
    matches!(kind, "kdf05" | "crypt05" | "rom05" | "gensalt05")
}

/// The ROM that was made last, since neighbouring cases use the same, with its digest.
#[derive(Default)]
pub(super) struct RomCache(Option<(RomInputs, Flavor, RomImage, Vec<u8>)>);

/// What answers cases.
pub(super) struct Solver<'a> {
    pub(super) workspace: &'a mut Workspace,
    pub(super) roms: &'a mut RomCache,
    pub(super) ceiling: &'a Ceiling,
}

impl Solver<'_> {
    /// The result of a case.
    pub(super) fn answer(&mut self, kind: &str, inputs: &Inputs) -> Result<Answer> {
        match kind {
            "kdf05" => self.kdf(inputs),
            "crypt05" => self.crypt(inputs),
            "rom05" => self.rom(inputs),
            _ => gensalt(inputs),
        }
    }

    fn kdf(&mut self, inputs: &Inputs) -> Result<Answer> {
        let flags = Flags::from_bits(narrow(inputs.flags, "flags")?).map_err(refused)?;
        let mut params = Params::new(Mode::Escrypt(flags), inputs.n, narrow(inputs.r, "r")?);
        (params.p, params.t) = (narrow(inputs.p, "p")?, narrow(inputs.t, "t")?);
        params.flavor = inputs.tuning()?;
        let params = params.check(&Limits::unlimited()).map_err(refused)?;
        self.ceiling.check("the working memory", u128::from(params.memory()))?;
        let mut out = self.ceiling.output(inputs.dk_len)?;
        self.attach(inputs)?;
        let rom = self.roms.rom(inputs, params.params().r)?;
        let Inputs { password, salt, .. } = inputs;
        let roms = rom.as_slice();
        derive_with_roms(&password.0, &salt.0, &params, roms, self.workspace, &mut out)
            .map_err(refused)?;
        Ok(Answer::bytes(&out))
    }

    fn crypt(&mut self, inputs: &Inputs) -> Result<Answer> {
        let setting = inputs.setting.as_bytes();
        let parsed = Setting::parse(setting).map_err(refused)?;
        if parsed.scheme() == Scheme::Scrypt && inputs.rom.is_some() {
            return Err(Failure::Refused("classic scrypt has no ROM".to_owned()));
        }
        let memory = parsed.params().memory();
        self.ceiling.check("the working memory", memory)?;
        self.attach(inputs)?;
        let mut hasher = Hasher::new().with_limits(Limits::unlimited());
        if let Some((_, _, image, _)) = self.roms.0.as_ref().filter(|_| inputs.rom.is_some()) {
            let rom = copy(image).and_then(Rom::untagged).map_err(refused)?;
            hasher = hasher.with_escrypt_rom(rom, inputs.mask);
        }
        let text = hasher.hash_with_setting(self.workspace, &inputs.password.0, setting);
        Ok(Answer::text(text.map_err(refused)?.into_bytes()))
    }

    fn rom(&mut self, inputs: &Inputs) -> Result<Answer> {
        let Inputs { seed, n, r, p, digest_len, .. } = inputs;
        let rom = RomInputs { seed: seed.clone(), n: *n, r: *r, p: *p, digest_len: *digest_len };
        self.make(&rom, inputs.tuning()?)?;
        let Some((_, _, image, digest)) = &self.roms.0 else { return Err(Failure::Unsupported) };
        Ok(Answer::rom(image, digest))
    }

    /// Make the ROM of a case the one in the cache, if it has one.
    fn attach(&mut self, inputs: &Inputs) -> Result<()> {
        match &inputs.rom {
            Some(rom) => self.make(rom, inputs.tuning()?),
            None => Ok(()),
        }
    }

    fn make(&mut self, rom: &RomInputs, tuning: Flavor) -> Result<()> {
        if self.roms.0.as_ref().is_some_and(|(made, with, ..)| made == rom && *with == tuning) {
            return Ok(());
        }
        self.roms.0 = None;
        let mut params = EscryptRomParams::new(rom.n, narrow(rom.r, "r")?, narrow(rom.p, "p")?);
        params.flavor = tuning;
        self.ceiling.check("the ROM", params.size().into())?;
        let bytes = usize::try_from(params.size()).unwrap_or(usize::MAX);
        let mut image = RomImage::zeroed(bytes).map_err(refused)?;
        let mut digest = self.ceiling.output(rom.digest_len)?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        self.workspace.set_threads(threads);
        let filled =
            init_rom(&params, &rom.seed.0, image.as_bytes_mut(), self.workspace, &mut digest);
        self.workspace.set_threads(1);
        filled.map_err(refused)?;
        self.roms.0 = Some((rom.clone(), tuning, image, digest));
        Ok(())
    }
}

impl RomCache {
    /// The ROM of a case that has been attached, for hashes of this r.
    fn rom(&self, inputs: &Inputs, r: u32) -> Result<Option<RomUse<RomView<'_>>>> {
        let Some((_, _, image, _)) = self.0.as_ref().filter(|_| inputs.rom.is_some()) else {
            return Ok(None);
        };
        let rom = RomView::untagged(image.as_bytes()).map_err(refused)?;
        let nrom = (rom.size() as u64).checked_div(128 * u64::from(r)).unwrap_or_default();
        let reading = RomReading { nrom, masks: RomMasks::escrypt(inputs.mask), look_ahead: 0 };
        Ok(Some(RomUse { rom, reading }))
    }
}

impl Inputs {
    fn tuning(&self) -> Result<Flavor> {
        let Some(constants) = &self.constants else { return Ok(Flavor::ESCRYPT) };
        let Constants { bits, simd, groups, rounds, salsa } = *constants;
        Flavor::escrypt(bits, simd, groups, rounds, salsa).map_err(refused)
    }
}

fn gensalt(inputs: &Inputs) -> Result<Answer> {
    let (flags, log2_n) = (narrow(inputs.flags, "flags")?, narrow(inputs.log2_n, "N_log2")?);
    let (r, p) = (narrow(inputs.r, "r")?, narrow(inputs.p, "p")?);
    let text = encode_setting(flags, log2_n, r, p, &inputs.salt.0).map_err(refused)?;
    Ok(Answer::text(text.into_bytes()))
}

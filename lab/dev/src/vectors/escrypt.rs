//! The kinds of escrypt 0.5.

use saltern_yescrypt::escrypt::encode_setting;
use saltern_yescrypt::{
    Hasher, Limits, Params, Scheme, Setting,
    params::{Flags, Mode},
    rom::{Rom, RomImage, RomMasks, RomReading, RomUse, RomView, derive_with_roms},
};

use super::case::Case;
use super::outcome::{Answer, Failure, Result, copy, narrow, refused};
use super::rom::{Workshop, escrypt_flavor};

pub(super) fn kdf(shop: &mut Workshop, case: &Case) -> Result<Answer> {
    let flags = Flags::from_bits(narrow(case.flags, "flags")?).map_err(refused)?;
    let mut params = Params::new(Mode::Escrypt(flags), case.n, narrow(case.r, "r")?);
    (params.p, params.t) = (narrow(case.p, "p")?, narrow(case.t, "t")?);
    params.flavor = escrypt_flavor(case.constants.as_ref())?;
    let params = params.check(&Limits::unlimited()).map_err(refused)?;
    shop.ceiling.check("the working memory", u128::from(params.memory()))?;
    let mut out = shop.ceiling.output(case.dk_len)?;
    shop.attach(case, |rom, workspace| {
        let block = 128 * u64::from(params.params().r);
        let reading = |rom: &RomImage| {
            let nrom = (rom.as_bytes().len() as u64).checked_div(block).unwrap_or_default();
            RomReading { nrom, masks: RomMasks::escrypt(case.mask), look_ahead: 0 }
        };
        let used = rom.map(|rom| {
            Ok(RomUse { rom: RomView::untagged(rom.as_bytes())?, reading: reading(rom) })
        });
        let used = used.transpose()?;
        let (password, salt) = (&case.password.0, &case.salt.0);
        derive_with_roms(password, salt, &params, used.as_slice(), workspace, &mut out)
    })?;
    Ok(Answer::bytes(&out))
}

pub(super) fn crypt(shop: &mut Workshop, case: &Case) -> Result<Answer> {
    let parsed = Setting::parse(case.setting()).map_err(refused)?;
    if parsed.scheme() == Scheme::Scrypt && case.rom.is_some() {
        return Err(Failure::Refused("classic scrypt has no ROM".to_owned()));
    }
    shop.ceiling.check("the working memory", parsed.params().memory())?;
    let text = shop.attach(case, |rom, workspace| {
        let mut hasher = Hasher::new().with_limits(Limits::unlimited());
        if let Some(rom) = rom {
            hasher = hasher.with_escrypt_rom(Rom::untagged(copy(rom)?)?, case.mask);
        }
        hasher.hash_with_setting(workspace, &case.password.0, case.setting())
    })?;
    Ok(Answer::text(text.into_bytes()))
}

pub(super) fn gensalt(case: &Case) -> Result<Answer> {
    let (flags, log2_n) = (narrow(case.flags, "flags")?, narrow(case.log2_n, "N_log2")?);
    let (r, p) = (narrow(case.r, "r")?, narrow(case.p, "p")?);
    let text = encode_setting(flags, log2_n, r, p, &case.salt.0).map_err(refused)?;
    Ok(Answer::text(text.into_bytes()))
}

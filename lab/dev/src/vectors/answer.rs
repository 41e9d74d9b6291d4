//! Compute a case from its inputs.

use saltern_yescrypt::{
    Hasher, Limits, Params, Scheme, Setting, Workspace, derive,
    hazmat::Level,
    hazmat::reencrypt,
    keys::HashKey,
    rom::{Rom, RomView},
};

use super::blake2;
use super::case::Case;
use super::escrypt;
use super::outcome::{Answer, Ceiling, Failure, Result, copy, narrow, refused};
use super::rom::{Workshop, mode_and_flavor};

/// Computes cases one after the other with the same memory.
pub(super) struct Solver {
    shop: Workshop,
    level: Option<Level>,
}

impl Solver {
    /// Refuse cases that take more than `max_memory` bytes for working memory, ROM or output.
    /// `level` is the one asked for, which the workspace has already.
    pub(super) fn new(workspace: Workspace, level: Option<Level>, max_memory: u64) -> Solver {
        Solver { shop: Workshop::new(workspace, Ceiling(max_memory)), level }
    }

    /// The result of a case, from its inputs alone.
    pub(super) fn answer(&mut self, case: &Case) -> Result<Answer> {
        if let Some(inputs) = &case.blake2 {
            let stated = case.expected.out.as_ref().map(|out| out.len() / 2);
            return blake2::answer(case.base_kind().0, inputs, stated, self.level);
        }
        match case.base_kind().0 {
            "kdf" => self.kdf(case),
            "kdf05" => escrypt::kdf(&mut self.shop, case),
            "rom" | "rom05" => self.rom(case),
            "crypt" => self.crypt(case),
            "crypt05" => escrypt::crypt(&mut self.shop, case),
            "encode" => encode(case),
            "gensalt" => gensalt(case),
            "gensalt05" => escrypt::gensalt(case),
            "reencrypt" => reencrypt_case(case),
            _ => Err(Failure::Unsupported),
        }
    }

    fn kdf(&mut self, case: &Case) -> Result<Answer> {
        let params = params(case)?.check(&Limits::unlimited()).map_err(refused)?;
        params.check_output(case.dk_len).map_err(refused)?;
        self.shop.ceiling.check("the working memory", u128::from(params.memory()))?;
        let mut out = self.shop.ceiling.output(case.dk_len)?;
        self.shop.attach(case, |rom, workspace| {
            let rom = rom.map(RomView::new).transpose()?;
            derive(&case.password.0, &case.salt.0, &params, rom.as_ref(), workspace, &mut out)
        })?;
        Ok(Answer::bytes(&out))
    }

    fn rom(&mut self, case: &Case) -> Result<Answer> {
        let made = self.shop.make(case.as_rom(), case)?;
        Ok(Answer::rom(&made.image, &made.digest))
    }

    fn crypt(&mut self, case: &Case) -> Result<Answer> {
        let setting = Setting::parse(case.setting()).map_err(refused)?;
        let params = setting.params().check(&Limits::unlimited()).map_err(refused)?;
        self.shop.ceiling.check("the working memory", u128::from(params.memory()))?;
        if case.rom.is_some() && setting.params().nrom == 0 {
            return Err(Failure::Refused("a ROM is given but the setting names none".to_owned()));
        }
        let key = key(&case.key.0)?;
        let text = self.shop.attach(case, |rom, workspace| {
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

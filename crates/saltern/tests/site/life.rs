//! The life of a site: its policy changes, its table is written now and then, and every account
//! keeps its password.

use proptest::prelude::*;
use saltern::policy::{KeySource, Params, RomSource, Secret, SiteRom};
use saltern::table::{Census, Table};
use saltern::{Outcome, Passwords, Policy};
use saltern_yescrypt::rom::{Rom, RomId, RomImage, RomParams};
use saltern_yescrypt::{Setting, Workspace};

use super::logins::{OLD, cheap, key};

/// What happens to a site.
#[derive(Clone, Debug)]
enum Event {
    Register {
        written: bool,
    },
    NewPassword {
        account: usize,
        written: bool,
    },
    Login {
        account: usize,
        right: bool,
        written: When,
    },
    Wrap {
        account: usize,
        written: When,
    },
    /// What was to be written late is written, as far as what it replaces still stands.
    Write,
    RekeyTable {
        rows: usize,
    },
    NewKey {
        active: bool,
    },
    NoActiveKey,
    RetireKey {
        key: usize,
    },
    NewRom {
        active: bool,
    },
    RetireRom {
        rom: usize,
    },
    NewCosts {
        n: u32,
    },
    Lock {
        account: usize,
    },
}

/// When a result is written: the machine may be gone before, and others may come in between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum When {
    Now,
    Late,
    Never,
}

fn event() -> impl Strategy<Value = Event> {
    let account = 0_usize..12;
    let when = prop_oneof![5 => Just(When::Now), 2 => Just(When::Late), 1 => Just(When::Never)];
    prop_oneof![
        2 => any::<bool>().prop_map(|written| Event::Register { written }),
        2 => (account.clone(), any::<bool>())
            .prop_map(|(account, written)| Event::NewPassword { account, written }),
        8 => (account.clone(), prop::bool::weighted(0.8), when.clone())
            .prop_map(|(account, right, written)| Event::Login { account, right, written }),
        3 => (account.clone(), when)
            .prop_map(|(account, written)| Event::Wrap { account, written }),
        2 => Just(Event::Write),
        3 => (0_usize..20).prop_map(|rows| Event::RekeyTable { rows }),
        2 => any::<bool>().prop_map(|active| Event::NewKey { active }),
        1 => Just(Event::NoActiveKey),
        2 => (0_usize..4).prop_map(|key| Event::RetireKey { key }),
        1 => any::<bool>().prop_map(|active| Event::NewRom { active }),
        2 => (0_usize..3).prop_map(|rom| Event::RetireRom { rom }),
        2 => (5_u32..9).prop_map(|n| Event::NewCosts { n }),
        1 => account.prop_map(|account| Event::Lock { account }),
    ]
}

struct Account {
    password: String,
    stored: String,
    locked: bool,
}

struct Site {
    policy: Policy,
    passwords: Passwords,
    accounts: Vec<Account>,
    /// What is to be written late: the account, the string that it replaces, and the new one.
    late: Vec<(usize, String, String)>,
    /// How many keys and ROMs there ever were: each has its own name and content.
    made: u8,
}

impl Site {
    fn new() -> Self {
        let mut policy = cheap();
        policy.floor = Params::yescrypt(16, 8);
        policy.pool.threads = 1;
        policy.decoy.key = Some(KeySource::Value(Secret::new([1; 32])));
        let passwords = Passwords::new(policy.clone()).unwrap();
        let account = |(stored, password): (&str, &str)| Account {
            password: password.to_owned(),
            stored: stored.to_owned(),
            locked: false,
        };
        let (accounts, late) = (OLD.map(account).into(), Vec::new());
        let mut site = Site { policy, passwords, accounts, late, made: 0 };
        site.register(true);
        site
    }

    /// The place of an account, whatever the number.
    fn place(&self, account: usize) -> usize {
        account % self.accounts.len()
    }

    /// Writes a string, as databases do it: where the old one still stands.
    fn write(&mut self, at: usize, old: String, new: String, when: When) {
        match when {
            When::Now if self.accounts[at].stored == old => self.accounts[at].stored = new,
            When::Late => self.late.push((at, old, new)),
            When::Now | When::Never => {}
        }
    }

    fn write_late(&mut self) {
        for (at, old, new) in std::mem::take(&mut self.late) {
            self.write(at, old, new, When::Now);
        }
    }

    fn change(&mut self) {
        self.passwords = Passwords::new(self.policy.clone()).unwrap();
    }

    fn register(&mut self, written: bool) {
        let password = format!("password of {}", self.accounts.len());
        let stored = self.passwords.hash(&password).wait().unwrap();
        if written {
            self.accounts.push(Account { password, stored, locked: false });
        }
    }

    fn census(&self) -> Census {
        let mut census = Census::default();
        for account in &self.accounts {
            self.passwords.table().count(&account.stored, &mut census).unwrap();
        }
        census
    }

    fn login(&mut self, at: usize, right: bool, when: When) {
        let account = &self.accounts[at];
        let password =
            if right { account.password.clone() } else { account.password.clone() + "?" };
        let outcome = self.passwords.verify("account", &password, Some(&account.stored)).wait();
        let reasons = self.passwords.table().needs_rehash(&account.stored).unwrap();
        match outcome.unwrap() {
            Outcome::Locked => assert!(account.locked),
            Outcome::Mismatch => assert!(!right && !account.locked),
            Outcome::Match { outdated, update, .. } => {
                assert!(right && !account.locked);
                assert_eq!(outdated, reasons);
                let Some(update) = update else { return assert!(!reasons.any(), "{reasons:?}") };
                assert!(reasons.any() && update.old == account.stored);
                if let (Some(old), Some(new)) = (strength(&update.old), strength(&update.new)) {
                    assert!(new >= old, "weaker: {} {}", update.old, update.new);
                }
                let left = self.passwords.table().needs_rehash(&update.new).unwrap();
                assert!(!left.any(), "{left:?}: {}", update.new);
                self.write(at, update.old, update.new, when);
            }
        }
    }

    fn wrap(&mut self, at: usize, when: When) {
        let stored = self.accounts[at].stored.clone();
        if let Some(wrapped) = self.passwords.wrap(&stored).wait().unwrap() {
            assert_eq!(self.passwords.wrap(&wrapped).wait(), Ok(None));
            self.write(at, stored, wrapped, when);
        }
    }

    fn new_password(&mut self, at: usize, written: bool) {
        self.made += 1;
        let password = format!("password {}", self.made);
        let stored = self.passwords.hash(&password).wait().unwrap();
        let account = &mut self.accounts[at];
        if written && !account.locked {
            (account.password, account.stored) = (password, stored);
        }
    }

    fn rekey_table(&mut self, rows: usize) {
        let table = Table::open(&self.policy).unwrap();
        for account in self.accounts.iter_mut().take(rows) {
            if let Some(new) = table.rekey(&account.stored).unwrap() {
                assert_eq!(table.rekey(&new), Ok(None));
                account.stored = new;
            }
        }
    }

    fn new_key(&mut self, active: bool) {
        self.made += 1;
        if active {
            self.policy.keys.iter_mut().for_each(|key| key.active = false);
        }
        self.policy.keys.push(key(&format!("key{}", self.made), self.made, active));
        self.change();
    }

    /// A key is taken away when the logins of before have ended and the census sees it nowhere.
    fn retire_key(&mut self, key: usize) {
        self.write_late();
        let Some(name) = self.policy.keys.get(key).map(|key| key.name) else { return };
        if self.passwords.table().retire_key(name.as_str(), &self.census()).is_ok() {
            self.policy.keys.remove(key);
            self.change();
        }
    }

    fn retire_rom(&mut self, rom: usize) {
        self.write_late();
        let Some(id) = self.policy.roms.get(rom).map(|rom| rom.id.to_string()) else { return };
        // A ROM that is not for new hashes any more, where there is another.
        self.policy.roms[rom].active &= self.policy.roms.len() == 1;
        self.change();
        if self.passwords.table().retire_rom(&id, &self.census()).is_ok() {
            self.policy.roms.remove(rom);
            self.change();
        }
    }

    fn new_rom(&mut self, active: bool) {
        self.made += 1;
        let params = RomParams::new(64, 8, 1);
        let image = RomImage::init(&params, [self.made], &mut Workspace::new()).unwrap();
        let id = RomId::new([self.made; 8]);
        if active {
            self.policy.roms.iter_mut().for_each(|rom| rom.active = false);
        }
        let source = RomSource::Value(Rom::new(image).unwrap());
        self.policy.roms.push(SiteRom { id, source, active });
        self.change();
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Register { written } => self.register(written),
            Event::NewPassword { account, written } => {
                self.new_password(self.place(account), written);
            }
            Event::Login { account, right, written } => {
                self.login(self.place(account), right, written);
            }
            Event::Wrap { account, written } => self.wrap(self.place(account), written),
            Event::Write => self.write_late(),
            Event::RekeyTable { rows } => self.rekey_table(rows),
            Event::NewKey { active } => self.new_key(active),
            Event::NoActiveKey => {
                self.policy.keys.iter_mut().for_each(|key| key.active = false);
                self.change();
            }
            Event::RetireKey { key } => self.retire_key(key),
            Event::NewRom { active } => self.new_rom(active),
            Event::RetireRom { rom } => self.retire_rom(rom),
            Event::NewCosts { n } => {
                self.policy.params = Params::yescrypt(1 << n, 8);
                self.change();
            }
            Event::Lock { account } => {
                let at = self.place(account);
                let account = &mut self.accounts[at];
                if !account.locked {
                    (account.locked, account.stored) = (true, format!("!{}", account.stored));
                }
            }
        }
    }

    /// Every account verifies with its password, and with no other.
    fn check(&self) {
        let others: Vec<&str> = self.accounts.iter().map(|account| &*account.password).collect();
        for (at, account) in self.accounts.iter().enumerate() {
            let stored = account.stored.strip_prefix('!').unwrap_or(&account.stored);
            let login = |password: &str| {
                let outcome = self.passwords.verify("account", password, Some(stored)).wait();
                outcome.unwrap_or_else(|error| panic!("{stored}: {error}")).is_match()
            };
            assert!(login(&account.password), "{stored} for {}", account.password);
            let other = others[(at + 1) % others.len()];
            assert!(other == account.password || !login(other), "{stored} for {other}");
            assert!(!login("") && !login(&(account.password.clone() + "?")) && !login(stored));
        }
    }
}

/// Memory times work, of a string of ours.
fn strength(stored: &str) -> Option<u128> {
    let stored = stored.rsplit_once('}').map_or(stored, |(_, stored)| stored);
    let mut params = *Setting::parse(stored).ok()?.params();
    params.nrom = 0;
    Some(params.memory() * params.work())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("SALTERN_LIVES").map_or(64, |lives| lives.parse().unwrap())
    ))]

    #[test]
    fn every_account_keeps_its_password(events in prop::collection::vec(event(), 1..40)) {
        let mut site = Site::new();
        for event in events {
            site.happen(event);
        }
        site.check();
        site.write_late();
        site.check();
    }
}

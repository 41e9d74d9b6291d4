//! The rate of sealing, beside that of moving to another key, in memory and in one thread.
//!
//! ```text
//! cargo run --release -p saltern --example seals -- 200000
//! ```
//!
//! Seals this many strings and moves as many, in turn and five times, and prints the medians.

use std::time::Instant;

use saltern::policy::{Key, KeySource, Secret};
use saltern::table::Table;
use saltern::{Error, Policy};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows: u32 = std::env::args().nth(1).ok_or("how many strings")?.parse()?;
    let key = |byte| -> Result<Key, Box<dyn std::error::Error>> {
        let source = KeySource::Value(Secret::new([byte; 32]));
        Ok(Key { name: "2026".parse()?, source, active: true })
    };
    let mut policy = Policy::default();
    policy.keys.push(key(1)?);
    policy.seal.keys.push(key(2)?);
    let table = Table::open(&policy)?;
    let plain = "$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6";
    let rate = |operation: &dyn Fn(u32) -> Result<Option<String>, Error>| {
        let began = Instant::now();
        for row in 0..rows {
            assert!(operation(row)?.is_some());
        }
        Ok::<_, Error>(f64::from(rows) / began.elapsed().as_secs_f64())
    };
    let (mut sealing, mut moving) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        moving.push(rate(&|_| table.rekey(plain))?);
        sealing.push(rate(&|row| table.for_account(row.to_string()).seal(plain))?);
    }
    let median = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[2]
    };
    let (sealing, moving) = (median(&mut sealing), median(&mut moving));
    println!("seal {sealing:.0}/s, rekey {moving:.0}/s: {:.2}", sealing / moving);
    Ok(())
}

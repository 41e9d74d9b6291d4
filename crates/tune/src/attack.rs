//! Published figures for attacks, as they were published.
//!
//! They are not extrapolated to other costs or to ROMs: how a figure changes with memory depends on
//! the device and on the program, and nobody has published that.

use serde::Serialize;

/// A published figure.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Published {
    /// The scheme computed.
    pub(crate) scheme: &'static str,
    /// The device used.
    pub(crate) device: &'static str,
    /// Bytes of memory for each candidate.
    pub(crate) memory: u64,
    /// Candidates per second.
    pub(crate) rate: f64,
    /// The date of publication.
    pub(crate) date: &'static str,
    /// The source.
    pub(crate) source: &'static str,
}

impl Published {
    /// Bytes per second: memory of a candidate times candidates per second.
    pub(crate) fn bytes(&self) -> f64 {
        self.memory as f64 * self.rate
    }
}

/// All figures, each with 16 MiB for a candidate.
pub(crate) const PUBLISHED: &[Published] = &[
    Published {
        scheme: "yescrypt, N 4096, r 32, t 0 ($y$j9T$)",
        device: "one GPU at 2790 MHz, its memory at 10251 MHz; the first kernel of hashcat",
        memory: 16 << 20,
        rate: 419.0,
        date: "2026-03-30",
        source: "https://github.com/hashcat/hashcat/pull/4657",
    },
    Published {
        scheme: "Argon2d, m 16384, t 3, p 1",
        device: "NVIDIA GeForce RTX 5090, John the Ripper",
        memory: 16 << 20,
        rate: 11_434.0,
        date: "2025-07-31",
        source: "https://github.com/openwall/john/pull/5382",
    },
    Published {
        scheme: "Argon2d, m 16384, t 3, p 1",
        device: "NVIDIA GTX 1080, John the Ripper",
        memory: 16 << 20,
        rate: 1742.0,
        date: "2024-03-27",
        source: "https://github.com/besser82/libxcrypt/pull/113",
    },
    Published {
        scheme: "Argon2d, m 16384, t 3, p 1",
        device: "two Xeon E5-2670, John the Ripper",
        memory: 16 << 20,
        rate: 438.0,
        date: "2024-03-27",
        source: "https://github.com/besser82/libxcrypt/pull/113",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_date_and_a_place() {
        for figure in PUBLISHED {
            let date: Vec<_> = figure.date.split('-').map(str::len).collect();
            assert_eq!(date, [4, 2, 2], "{figure:?}");
            assert!(figure.source.starts_with("https://") && figure.rate > 0.0, "{figure:?}");
        }
    }
}

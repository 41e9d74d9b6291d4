//! The description of a ROM, in a small file beside its image.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use saltern_yescrypt::{
    params::Flavor,
    rom::{RomId, RomParams},
};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::format::identity::RomHash;
use crate::format::paths::{beside, segment_name};
use crate::format::{hex, timestamp};

/// The least and the most bytes of a chunk.
pub(crate) const CHUNKS: [u64; 2] = [1 << 10, 64 << 10];

/// The version of the format that is written, and the only one that is read.
const FORMAT: &str = "saltern-rom-2";
/// Its predecessor, whose id did not depend on the whole image.
const OLD_FORMAT: &str = "saltern-rom-1";
/// No manifest is longer.
pub(crate) const MAX_BYTES: u64 = 64 << 10;

/// The description of a ROM: how it was made, and how to identify it. Nothing in it is secret.
///
/// It is stored as JSON beside the image, as `NAME.json` for an image `NAME`. Unknown fields and
/// versions are refused.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Manifest {
    /// The parameters that the ROM was made with, beside its seed.
    pub params: RomParams,
    /// The hash over all bytes of the image and over the parameters, which begins with the ROM's
    /// id.
    pub hash: RomHash,
    /// The digest at the end of the image, as the algorithm makes it.
    pub digest: [u8; 32],
    /// Bytes of a chunk of the image; each has a hash in the table beside the image. A power of
    /// two, 1 KiB to 64 KiB. The last chunk may be shorter.
    pub chunk: u32,
    /// Where the seed came from.
    pub seed: SeedSource,
    /// When the image was made (or adopted).
    pub created: SystemTime,
    /// Where the image is.
    pub location: Location,
}

/// Where an image is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "at", deny_unknown_fields)]
#[non_exhaustive]
pub enum Location {
    /// In the file beside the manifest.
    Beside,
    /// In another file, for instance on a hugetlbfs.
    File {
        /// Its path, which is made absolute when the manifest is written.
        path: PathBuf,
    },
    /// In a System V shared memory segment.
    Sysv {
        /// The segment's key.
        key: i32,
    },
}

impl Location {
    /// The location, independent of the working directory.
    pub(crate) fn absolute(&self) -> Result<Self, Error> {
        match self {
            Location::File { path } => {
                let absolute = std::path::absolute(path).map_err(Error::io("find", path))?;
                Ok(Location::File { path: absolute })
            }
            other => Ok(other.clone()),
        }
    }

    /// The file of an image whose manifest is beside `image`; `None` for a segment.
    pub(crate) fn file<'a>(&'a self, image: &'a Path) -> Option<&'a Path> {
        match self {
            Location::Beside => Some(image),
            Location::File { path } => Some(path),
            Location::Sysv { .. } => None,
        }
    }

    /// Its name in errors.
    pub(crate) fn name(&self, image: &Path) -> PathBuf {
        match self {
            Location::Sysv { key } => segment_name(*key),
            _ => self.file(image).unwrap_or(image).to_owned(),
        }
    }
}

/// Where the seed of a ROM came from, so that it can be found again. Never the seed itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "from", deny_unknown_fields)]
#[non_exhaustive]
pub enum SeedSource {
    /// It was read from this file.
    File {
        /// The file, as an absolute path if that could be determined.
        path: PathBuf,
    },
    /// It was made by the system's random generator and written to this file.
    Generated {
        /// The file, as an absolute path if that could be determined.
        path: PathBuf,
    },
    /// It was read from a descriptor or from another program.
    Descriptor,
    /// The image was not made here.
    Unknown,
}

/// The file's fields.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    format: String,
    id: String,
    hash: String,
    digest: String,
    generation: String,
    nrom: u64,
    r: u32,
    p: u32,
    t: u32,
    flavor: FlavorFields,
    size: u64,
    chunk: u32,
    seed: SeedSource,
    created: String,
    image: Location,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlavorFields {
    rounds: u32,
    gather: u32,
    simple: u32,
    sbox_bytes: u32,
    salsa_mix: u32,
    salsa_tail: u32,
}

/// The version alone.
#[derive(Deserialize)]
struct Version {
    format: String,
}

impl Manifest {
    /// The manifest's file for an image `NAME`: `NAME.json` beside it.
    #[must_use]
    pub fn path_for(image: &Path) -> PathBuf {
        beside(image, ".json")
    }

    /// Parses a manifest strictly.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let version: Version = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if version.format == OLD_FORMAT {
            return Err(conversion(text));
        }
        if version.format != FORMAT {
            return Err(format!(
                "its format is {:?}; only {FORMAT:?} is known here",
                version.format
            ));
        }
        let fields: Fields = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if fields.generation != "1.1" {
            let generation = fields.generation;
            return Err(format!("its generation is {generation:?}; only \"1.1\" is known here"));
        }
        let FlavorFields { rounds, gather, simple, sbox_bytes, salsa_mix, salsa_tail } =
            fields.flavor;
        let flavor = Flavor::new(rounds, gather, simple, sbox_bytes)
            .and_then(|flavor| flavor.with_salsa(salsa_mix, salsa_tail));
        let mut params = RomParams::new(fields.nrom, fields.r, fields.p);
        params.flavor = flavor.map_err(|error| error.to_string())?;
        params.t = fields.t;
        params.check().map_err(|error| error.to_string())?;
        let manifest = Manifest {
            params,
            hash: hex::parse(&fields.hash).ok_or("its hash is not 64 hex digits")?.into(),
            digest: hex::parse(&fields.digest).ok_or("its digest is not 64 hex digits")?,
            chunk: fields.chunk,
            seed: fields.seed,
            created: timestamp::parse(&fields.created)
                .ok_or("its creation time does not look like 2026-01-31T12:00:00Z")?,
            location: fields.image,
        };
        let [least, most] = CHUNKS;
        if !fields.chunk.is_power_of_two() || !(least..=most).contains(&fields.chunk.into()) {
            let chunk = fields.chunk;
            return Err(format!("its chunk {chunk} is not a power of two from {least} to {most}"));
        }
        if fields.size != manifest.size() {
            return Err(format!("size {} is not 128 * r * nrom", fields.size));
        }
        if fields.id != manifest.id().to_string() {
            return Err(format!("its hash does not begin with its id {}", fields.id));
        }
        Ok(manifest)
    }

    /// The text that [`Manifest::parse`] reads.
    #[must_use]
    pub fn to_json(&self) -> String {
        let RomParams { flavor, nrom, r, p, t, .. } = self.params;
        let fields = Fields {
            format: FORMAT.to_owned(),
            id: self.id().to_string(),
            hash: self.hash.to_string(),
            digest: hex::text(&self.digest),
            generation: "1.1".to_owned(),
            nrom,
            r,
            p,
            t,
            flavor: FlavorFields {
                rounds: flavor.rounds(),
                gather: flavor.gather(),
                simple: flavor.simple(),
                sbox_bytes: flavor.sbox_bytes(),
                salsa_mix: flavor.salsa_mix(),
                salsa_tail: flavor.salsa_tail(),
            },
            size: self.size(),
            chunk: self.chunk,
            seed: self.seed.clone(),
            created: timestamp::text(self.created),
            image: self.location.clone(),
        };
        // Only a path that is not UTF-8 can make this fail; see `check_paths`.
        let mut text = serde_json::to_string_pretty(&fields).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The ROM's id: the beginning of its hash.
    #[must_use]
    pub fn id(&self) -> RomId {
        self.hash.id()
    }

    /// Bytes in the image.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.params.size()
    }

    /// The file that holds the image, if it is in one; `image` is the path that the manifest is
    /// beside.
    #[must_use]
    pub fn image_path(&self, image: &Path) -> Option<PathBuf> {
        self.location.file(image).map(Path::to_owned)
    }

    /// JSON cannot express paths that are not UTF-8. This is checked before long work, not after
    /// it.
    pub(crate) fn check_paths(
        image: &Path,
        seed: &SeedSource,
        location: &Location,
    ) -> Result<(), Error> {
        let location = match location {
            Location::File { path } => Some(path),
            Location::Beside | Location::Sysv { .. } => None,
        };
        let seed = match seed {
            SeedSource::File { path } | SeedSource::Generated { path } => Some(path),
            SeedSource::Descriptor | SeedSource::Unknown => None,
        };
        match [location, seed].into_iter().flatten().find(|path| path.to_str().is_none()) {
            None => Ok(()),
            Some(path) => {
                let reason = format!("the path {path:?}, which it must name, is not UTF-8");
                Err(Error::Manifest { path: Self::path_for(image), reason })
            }
        }
    }
}

/// How to convert a manifest of the previous format to the current one, with its parameters.
fn conversion(text: &str) -> String {
    let old: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let number = |name: &str| old[name].as_u64().unwrap_or_default();
    let (size, r, p, t) = (number("size"), number("r"), number("p"), number("t"));
    format!(
        "its format is {OLD_FORMAT:?}, in which the id did not depend on all of the image: check the image (with `saltern rom verify --recompute` of the \
         version that made it, or by making it again from its seed), remove this file, and run `saltern rom adopt --size {size}B --r {r} --p {p} --t {t}` on it; \
         its id will change"
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            params: RomParams::new(512, 8, 2),
            hash: core::array::from_fn(|i| i as u8).into(),
            digest: [0xab; 32],
            chunk: 4096,
            seed: SeedSource::File { path: "/etc/rom seed".into() },
            created: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            location: Location::Beside,
        }
    }

    #[test]
    fn the_text_reads_back() {
        let mut expected = manifest();
        for location in [
            Location::Beside,
            Location::File { path: "/dev/hugepages/a.rom".into() },
            Location::Sysv { key: -5 },
        ] {
            expected.location = location;
            for seed in [SeedSource::Descriptor, SeedSource::Unknown, expected.seed.clone()] {
                expected.seed = seed;
                assert_eq!(Manifest::parse(&expected.to_json()).unwrap(), expected);
            }
        }
        let text = expected.to_json();
        assert!(text.contains("\"id\": \"0001020304050607\""), "{text}");
        assert!(text.contains("\"created\": \"2023-11-14T22:13:20Z\""), "{text}");
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let text = manifest().to_json();
        let cases = [
            ("\"saltern-rom-2\"", "\"saltern-rom-3\"", "is known here"),
            ("\"saltern-rom-2\"", "\"saltern-rom-1\"", "adopt --size 524288B --r 8 --p 2 --t 0"),
            ("\"1.1\"", "\"0.5\"", "generation"),
            ("\"nrom\": 512", "\"nrom\": 513", "NROM"),
            ("\"nrom\": 512", "\"nrom\": 1024", "size"),
            ("\"r\": 8", "\"r\": -8", "invalid"),
            ("\"rounds\": 6", "\"rounds\": 5", "PWXrounds"),
            ("\"id\": \"00", "\"id\": \"01", "hash"),
            ("\"hash\": \"00", "\"hash\": \"0g", "hash"),
            ("\"hash\": \"00", "\"hash\": \"", "hash"),
            ("\"digest\": \"ab", "\"digest\": \"AB", "digest"),
            ("\"digest\": \"ab", "\"digest\": \"", "digest"),
            ("2023-11", "2023-13", "time"),
            ("\"chunk\": 4096", "\"chunk\": 4095", "chunk 4095"),
            ("\"chunk\": 4096", "\"chunk\": 0", "chunk 0"),
            ("\"chunk\": 4096", "\"chunk\": 512", "chunk 512"),
            ("\"chunk\": 4096", "\"chunk\": 131072", "chunk 131072"),
            ("\"chunk\": 4096", "\"chunk\": 4096, \"more\": 1", "unknown field"),
            ("\"t\": 0", "\"t\": 0, \"u\": 0", "unknown field"),
            ("\"t\": 0,", "", "missing field"),
            ("\"at\": \"beside\"", "\"at\": \"moon\"", "moon"),
        ];
        for (from, to, complaint) in cases {
            let changed = text.replace(from, to);
            assert_ne!(changed, text, "{from}");
            let error = Manifest::parse(&changed).unwrap_err();
            assert!(error.contains(complaint), "{from} -> {to}: {error}");
        }
        assert!(Manifest::parse("").is_err() && Manifest::parse("[]").is_err());
        // Any other change is refused or has a meaning.
        for at in 0..text.len() {
            for other in ["", "0", "\"", "}", "-", "\n", "\u{0}", "é"] {
                let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
                if let Ok(manifest) = Manifest::parse(&changed) {
                    assert_eq!(Manifest::parse(&manifest.to_json()), Ok(manifest));
                }
            }
        }
        assert!(Manifest::parse(&text[..text.len() - 3]).is_err());
    }
}

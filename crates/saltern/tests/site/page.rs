//! docs/policy.md has every key of a policy file, and no other.

use std::collections::{BTreeMap, BTreeSet};

use saltern::Policy;

/// The tables of the page: the name of each TOML table ("" for the top) and its keys.
fn described(page: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut tables = BTreeMap::new();
    for section in page.split("\n## ").skip(1) {
        let heading = section.lines().next().unwrap();
        let name = heading.trim_matches('`').replace("At the top", "");
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        let keys = rows.map(|row| row.split('`').next().unwrap().to_owned()).collect();
        tables.insert(name, keys);
    }
    tables
}

/// The keys that the reader of policies knows in a table, by the error for one that is not.
fn known(table: &str) -> BTreeSet<String> {
    // What a table requires comes before unknown keys are looked for.
    let required = match table {
        "[[keys]]" | "[[seal.keys]]" => {
            "name = \"a\"\nfile = \"a\"\nfingerprint = \"0123456789abcdef\"\n".to_owned()
        }
        "[firebase]" => "signer_key = \"a\"\nfingerprint = \"0123456789abcdef\"\nsalt_separator = \
             \"Bw==\"\nrounds = 8\nmem_cost = 14\n"
            .to_owned(),
        "[[roms]]" => format!("image = \"a\"\nhash = \"{:0>64}\"\n", 1),
        _ => String::new(),
    };
    let text = format!("{table}\n{required}no-such-key = 1\n");
    let error = Policy::parse(&text, "").unwrap_err().to_string();
    let (_, keys) = error.split_once("a known key: one of ").expect(&error);
    keys.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_page_describes_every_key_and_no_other() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.md");
    let page = std::fs::read_to_string(page).unwrap();
    let described = described(&page);
    assert_eq!(described.len(), 13, "{:?}", described.keys());
    for (table, keys) in &described {
        let mut known = known(table);
        // Tables have sections of their own.
        known.retain(|key| !table.is_empty() || !described.keys().any(|name| is_of(name, key)));
        assert_eq!(&known, keys, "{table}");
    }
    // Every table that there is has its section.
    let tables = known("").into_iter().filter(|key| !described[""].contains(key));
    for key in tables {
        assert!(described.keys().any(|name| is_of(name, &key)), "{key}");
    }
}

fn is_of(heading: &str, key: &str) -> bool {
    heading.trim_matches(['[', ']']) == key
}

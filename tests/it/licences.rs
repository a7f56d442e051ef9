//! Every dependency is under a licence `deny.toml` allows and comes from a registry, never from a branch of
//! something.

use std::collections::BTreeSet;
use std::fs;
use std::iter::Peekable;
use std::path::Path;

#[test]
fn every_dependency_may_be_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let allowed = allowed(&fs::read_to_string(root.join("deny.toml")).unwrap());
    let tree = assert_cmd::Command::new(env!("CARGO"))
        .args([
            "tree", "--locked", "--offline", "--edges", "normal,build,dev", "--prefix", "none", "--no-dedupe",
        ])
        .args(["--format", "{p}\t{l}"])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let text = String::from_utf8(tree.stdout).unwrap();
    let packages: BTreeSet<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    assert!(packages.len() > 20, "a tree this small was not read right: {packages:?}");
    for package in packages {
        let (name, licence) = package.split_once('\t').unwrap();
        assert!(
            permits(licence, &allowed),
            "`{name}` is under `{licence}`, which `deny.toml` does not allow"
        );
        let ours = name.contains(env!("CARGO_MANIFEST_DIR"));
        assert!(ours || !name.contains("://"), "`{name}` does not come from a registry");
    }
}

#[test]
fn a_licence_is_read_as_the_expression_it_is() {
    let allowed = ["MIT".to_owned(), "Zlib".to_owned()];
    for good in ["MIT", "GPL-3.0 OR MIT", "Apache-2.0/MIT", "Apache-2.0 / MIT", "(GPL-3.0 OR MIT) AND Zlib"] {
        assert!(permits(good, &allowed), "{good}");
    }
    for bad in
        ["", "GPL-3.0", "GPL-3.0 AND MIT", "MIT AND (GPL-3.0 OR BSD-2-Clause)", "MIT WITH some-exception"]
    {
        assert!(!permits(bad, &allowed), "{bad}");
    }
}

fn allowed(deny: &str) -> Vec<String> {
    let list = deny.split_once("allow = [").unwrap().1.split_once(']').unwrap().0;
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// One of the choices of an SPDX expression is on our list. `/` is the old way to write `OR`.
fn permits(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    any(&mut spaced.split_whitespace().peekable(), allowed)
}

fn any<'a>(words: &mut Peekable<impl Iterator<Item = &'a str>>, allowed: &[String]) -> bool {
    let mut good = all(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        good |= all(words, allowed);
    }
    good
}

fn all<'a>(words: &mut Peekable<impl Iterator<Item = &'a str>>, allowed: &[String]) -> bool {
    let mut good = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        good &= one(words, allowed);
    }
    good
}

fn one<'a>(words: &mut Peekable<impl Iterator<Item = &'a str>>, allowed: &[String]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let good = any(words, allowed);
        return words.next() == Some(")") && good;
    }
    let mut name = words.next().unwrap_or_default().to_owned();
    if words.next_if_eq(&"WITH").is_some() {
        name = format!("{name} WITH {}", words.next().unwrap_or_default());
    }
    allowed.contains(&name)
}

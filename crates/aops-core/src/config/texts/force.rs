//! Finds the texts in force: the shipped ones, or what the user, the project or the administrator replaces
//! them with.
//!
//! Reads `workflows/`, `agents/`, `templates/`, `AXIOMS.md` and `WORKFLOWS.md` of the user, and `workflows/`
//! and `AXIOMS.md` of the project's `.aops`, and the administrator's bundle, whose texts neither can replace.
//! Invariants: a text that exists but cannot be read is a problem, and never silently replaced by the shipped
//! one; the same folders give the same list in the same order.

use super::open::{Bounds, list};
use super::{ASSETS, Asset, Kind, Origin, Reading, Text, Texts};
use crate::config::bundle::Packed;
use crate::config::workflow::{Problem, is_plain, meant};
use crate::system::env::Env;
use crate::text::sha256::sha256;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

impl Text {
    /// `workflow/tdd-cycle`; axioms add up, so their names say who provided them.
    pub fn name(&self) -> String {
        let whose = if self.kind == Kind::Axioms { format!("@{}", self.origin) } else { String::new() };
        format!("{}/{}{whose}", format!("{:?}", self.kind).to_lowercase(), self.id)
    }
}

impl Texts {
    /// The digest of each text by its name, for the policy hash. If only one text is in force, its origin
    /// does not matter.
    pub fn digests(&self) -> BTreeMap<String, String> {
        self.texts.iter().map(|text| (text.name(), sha256(&[text.text.as_bytes()]))).collect()
    }

    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Text> {
        self.texts.iter().filter(move |text| text.kind == kind)
    }
}

/// A folder with texts of the user or the project.
struct TextFolder<'a> {
    origin: Origin,
    folder: PathBuf,
    within: Option<&'a Path>,
}

/// Every text in force in this project. Axioms add up; of any other text the nearest version counts.
pub fn in_force<'r>(reading: &'r Reading) -> &'r Texts {
    reading.texts.get_or_init(|| gather(reading))
}

fn gather(reading: &Reading) -> Texts {
    let mut all = Gathered::new(reading);
    let ours = ASSETS.iter().filter(|asset| asset.kind() != Kind::Command);
    ours.for_each(|asset| all.add(embedded(asset)));
    for from in text_folders(reading, Some(reading.root())) {
        for kind in
            [Kind::Workflow, Kind::Agent, Kind::Template].into_iter().filter(|kind| may(from.origin, *kind))
        {
            all.take_folder(&from, kind);
        }
        for kind in [Kind::Axioms, Kind::Index].into_iter().filter(|kind| may(from.origin, *kind)) {
            all.take_file(&from, kind, name(kind), &from.folder.join(file_of(kind, name(kind))));
        }
    }
    match managed(reading) {
        Ok(texts) => texts.into_iter().for_each(|text| all.add(text)),
        Err(problem) => all.problems.push(problem),
    }
    all.problems.sort();
    Texts { texts: all.texts.into_values().collect(), problems: all.problems }
}

/// The text of this name in force, if there is one. `project`: whether its texts count, too.
pub fn find(reading: &Reading, project: bool, kind: Kind, id: &str) -> Result<Option<Text>, Problem> {
    if let Some(text) = managed(reading)?.into_iter().find(|text| text.kind == kind && text.id == id) {
        return Ok(Some(text));
    }
    let plain = id.split('/').all(is_plain) || id == name(kind);
    let project = project.then(|| reading.root());
    for from in
        text_folders(reading, project).into_iter().rev().filter(|from| plain && may(from.origin, kind))
    {
        let path = from.folder.join(file_of(kind, id));
        if let Some(text) = text_at(reading, &from, kind, id, &path)? {
            return Ok(Some(text));
        }
    }
    Ok(ASSETS.iter().find(|asset| asset.kind() == kind && asset.id() == id).map(embedded))
}

/// All axioms, the shipped ones first, so that a project's long or unreadable text cannot push them out of
/// the context.
pub fn axioms(reading: &Reading) -> Texts {
    let texts = ASSETS.iter().filter(|asset| asset.kind() == Kind::Axioms).map(embedded).collect();
    let mut all = Texts { texts, problems: Vec::new() };
    match managed(reading) {
        Ok(texts) => all.texts.extend(texts.into_iter().filter(|text| text.kind == Kind::Axioms)),
        Err(problem) => all.problems.push(problem),
    }
    for from in text_folders(reading, Some(reading.root())) {
        let path = from.folder.join(file_of(Kind::Axioms, "AXIOMS"));
        match text_at(reading, &from, Kind::Axioms, "AXIOMS", &path) {
            Ok(text) => all.texts.extend(text),
            Err(problem) => all.problems.push(problem),
        }
    }
    all
}

/// The texts of the administrator's bundle.
fn managed(reading: &Reading) -> Result<Vec<Text>, Problem> {
    let Some(bundle) = reading.bundle()? else { return Ok(Vec::new()) };
    let texts = bundle.files.iter().filter(|(path, _)| path.strip_suffix(".md").is_some());
    let text = |(path, packed): (&String, &Packed)| {
        let kind = Asset::kind_of(path);
        let id = Asset::id_of(path).to_owned();
        Text {
            kind,
            id,
            origin: Origin::Managed,
            file: bundle.file(path),
            text: Cow::Owned(packed.text.clone()),
        }
    };
    Ok(texts.map(text).collect())
}

/// From the farthest to the nearest.
fn text_folders<'a>(env: &Env, project: Option<&'a Path>) -> Vec<TextFolder<'a>> {
    let user = TextFolder { origin: Origin::User, folder: env.user_config.clone(), within: None };
    let own = project.map(|project| TextFolder {
        origin: Origin::Project,
        folder: project.join(".aops"),
        within: Some(project),
    });
    std::iter::once(user).chain(own).filter(|from| from.folder.is_absolute()).collect()
}

/// A repository must not bring its own critic, nor change our messages, nor how a workflow is chosen.
fn may(origin: Origin, kind: Kind) -> bool {
    match origin {
        Origin::Project => matches!(kind, Kind::Workflow | Kind::Axioms),
        _ => kind != Kind::Command,
    }
}

/// The name of the only text of this kind.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Axioms => "AXIOMS",
        Kind::Index => "WORKFLOWS",
        _ => "",
    }
}

fn file_of(kind: Kind, id: &str) -> PathBuf {
    Path::new(folder_of(kind)).join(format!("{id}.md"))
}

fn folder_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Axioms | Kind::Index => "",
        Kind::Agent => "agents",
        Kind::Template => "templates",
        Kind::Command => "commands",
        Kind::Workflow => "workflows",
    }
}

fn embedded(asset: &super::Asset) -> Text {
    Text {
        kind: asset.kind(),
        id: asset.id().to_owned(),
        origin: Origin::Embedded,
        file: format!("embedded:{}", asset.path),
        text: Cow::Borrowed(asset.text),
    }
}

fn text_at(
    reading: &Reading,
    from: &TextFolder,
    kind: Kind,
    id: &str,
    path: &Path,
) -> Result<Option<Text>, Problem> {
    let file = path.display().to_string();
    let found = reading.text(path, from.within).map_err(|why| Problem::new(&file, 1, why))?;
    Ok(found.map(|text| Text { kind, id: id.to_owned(), origin: from.origin, file, text: Cow::Owned(text) }))
}

/// Texts by kind, ID and, if they add up, origin.
struct Gathered<'r> {
    reading: &'r Reading<'r>,
    texts: BTreeMap<(Kind, String, Option<Origin>), Text>,
    problems: Vec<Problem>,
}

impl<'r> Gathered<'r> {
    fn new(reading: &'r Reading<'r>) -> Self {
        Self { reading, texts: BTreeMap::new(), problems: Vec::new() }
    }

    /// A nearer text replaces a farther one.
    fn add(&mut self, text: Text) {
        let adds_up = (text.kind == Kind::Axioms).then_some(text.origin);
        self.texts.insert((text.kind, text.id.clone(), adds_up), text);
    }

    fn take_folder(&mut self, from: &TextFolder, kind: Kind) {
        let folder = from.folder.join(folder_of(kind));
        let files = match list(
            &folder,
            from.within.map(|project| Bounds::of(self.reading, project)),
            kind == Kind::Template,
        ) {
            Ok(files) => files.unwrap_or_default(),
            Err(why) => return self.problems.push(Problem::new(folder.display().to_string(), 1, why)),
        };
        for path in files {
            let below = path.strip_prefix(&folder).unwrap_or(&path).with_extension("");
            self.take_file(from, kind, &below.to_string_lossy(), &path);
        }
    }

    fn take_file(&mut self, from: &TextFolder, kind: Kind, id: &str, path: &Path) {
        // A template with an unknown name would never be used: most likely it is a typo.
        let unknown = kind == Kind::Template && !self.texts.contains_key(&(kind, id.to_owned(), None));
        if unknown {
            let known = ASSETS.iter().filter(|asset| asset.kind() == kind).map(super::Asset::id);
            let what = format!("there is no template `{id}` to replace{}", meant(id, known));
            return self.problems.push(Problem::new(path.display().to_string(), 1, what));
        }
        match text_at(self.reading, from, kind, id, path) {
            Ok(text) => text.into_iter().for_each(|text| self.add(text)),
            Err(problem) => self.problems.push(problem),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    struct World {
        root: TempDir,
        env: Env,
    }

    impl World {
        fn new(files: &[(&str, &str)]) -> Self {
            let root = tempfile::tempdir().unwrap();
            for (name, text) in files {
                let path = root.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let env = Env { user_config: root.path().join("user"), ..Env::default() };
            Self { root, env }
        }

        fn project(&self) -> PathBuf {
            self.root.path().join("project")
        }

        /// All texts that are not ours, and all problems without their folder.
        fn foreign(&self) -> (Vec<String>, Vec<String>) {
            let project = self.project();
            let reading = Reading::of_project(&self.env, &project);
            let Texts { texts, problems } = in_force(&reading);
            let foreign = texts.iter().filter(|text| text.origin != Origin::Embedded);
            let root = format!("{}/", self.root.path().display());
            (
                foreign
                    .map(|text| format!("{:?} {} {}: {}", text.kind, text.id, text.origin, text.text))
                    .collect(),
                problems.iter().map(|problem| problem.to_string().replace(&root, "")).collect(),
            )
        }
    }

    #[test]
    fn ours_alone() {
        let world = World::new(&[]);
        let project = world.project();
        let reading = Reading::of_project(&world.env, &project);
        let Texts { texts, problems } = in_force(&reading);
        assert_eq!(
            (texts.len(), problems.clone()),
            (ASSETS.iter().filter(|a| a.kind() != Kind::Command).count(), vec![])
        );
    }

    #[test]
    fn the_nearest_counts_and_axioms_add_up() {
        let world = World::new(&[
            ("user/workflows/tdd-cycle.md", "user's"),
            ("user/workflows/qa-demo.md", "user's"),
            ("user/agents/critic.md", "user's"),
            ("user/agents/scribe.md", "user's"),
            ("user/templates/refusals/rule.md", "user's"),
            ("user/AXIOMS.md", "user's"),
            ("user/WORKFLOWS.md", "user's"),
            ("project/.aops/workflows/tdd-cycle.md", "project's"),
            ("project/.aops/workflows/release.md", "project's"),
            ("project/.aops/workflows/.release.md.swp", "an editor's"),
            ("project/.aops/workflows/README.md", "a note"),
            ("project/.aops/agents/critic.md", "never"),
            ("project/.aops/templates/refusals/rule.md", "never"),
            ("project/.aops/WORKFLOWS.md", "never"),
            ("project/.aops/AXIOMS.md", "project's"),
        ]);
        let wanted = [
            "Axioms AXIOMS user: user's",
            "Axioms AXIOMS project: project's",
            "Agent critic user: user's",
            "Agent scribe user: user's",
            "Workflow qa-demo user: user's",
            "Workflow release project: project's",
            "Workflow tdd-cycle project: project's",
            "Index WORKFLOWS user: user's",
            "Template refusals/rule user: user's",
        ];
        assert_eq!(world.foreign(), (wanted.map(str::to_owned).to_vec(), vec![]));
        let project = world.project();
        let reading = Reading::of_project(&world.env, &project);
        let origins: Vec<_> = axioms(&reading).texts.iter().map(|text| text.origin).collect();
        assert_eq!(origins, [Origin::Embedded, Origin::User, Origin::Project]);
        for text in in_force(&reading).texts.iter().filter(|text| text.kind != Kind::Axioms) {
            let one = find(&Reading::of_project(&world.env, &project), true, text.kind, &text.id).unwrap();
            assert_eq!(one.as_ref(), Some(text), "one by one it is the same as all at once");
        }
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        let world = World::new(&[
            ("user/templates/refusals/rules.md", "x"),
            ("project/.aops/workflows/good.md", "x"),
        ]);
        let outside = world.root.path().join("secret.md");
        fs::write(&outside, "secret").unwrap();
        let folder = world.project().join(".aops/workflows");
        std::os::unix::fs::symlink(&outside, folder.join("out.md")).unwrap();
        fs::create_dir(folder.join("folder.md")).unwrap();
        let wanted = [
            "project/.aops/workflows/folder.md:1: is not a plain file",
            "project/.aops/workflows/out.md:1: is a link out of the project",
            "user/templates/refusals/rules.md:1: there is no template `refusals/rules` to replace; did you mean `refusals/rule`?",
        ];
        assert_eq!(world.foreign().1, wanted);
        let project = world.project();
        let reading = Reading::of_project(&world.env, &project);
        let Texts { texts, .. } = in_force(&reading);
        assert!(texts.iter().all(|text| text.text != "secret"));
        let alone = find(&reading, true, Kind::Workflow, "out").unwrap_err();
        assert_eq!(alone.what, "is a link out of the project");
    }

    #[test]
    fn a_folder_that_leads_out_of_the_project_is_not_read() {
        let world = World::new(&[("elsewhere/workflows/evil.md", "evil"), ("project/README.md", "")]);
        std::os::unix::fs::symlink("../elsewhere", world.project().join(".aops")).unwrap();
        let wanted = ["project/.aops/workflows:1: is a link out of the project"];
        assert_eq!(world.foreign(), (vec![], wanted.map(str::to_owned).to_vec()));
    }

    #[test]
    fn no_name_reaches_outside_its_folder() {
        let world = World::new(&[("user/config.md", "x"), ("user/workflows/a.md", "a")]);
        let reading = Reading::of_project(&world.env, Path::new("/"));
        for id in ["../config", "..", "", "/etc/passwd", "a/../../config", "A"] {
            assert_eq!(find(&reading, false, Kind::Workflow, id), Ok(None), "{id:?}");
        }
        assert_eq!(find(&reading, false, Kind::Workflow, "a").unwrap().unwrap().text, "a");
    }

    #[test]
    fn every_change_moves_a_digest() {
        let digests = |files: &[(&str, &str)]| {
            let world = World::new(files);
            in_force(&Reading::of_project(&world.env, &world.project())).digests()
        };
        let bare = digests(&[]);
        assert_eq!(bare, digests(&[]), "the same folders elsewhere give the same digests");
        assert!(
            bare.contains_key("workflow/tdd-cycle") && bare.contains_key("axioms/AXIOMS@embedded"),
            "{bare:?}"
        );
        for file in ["user/AXIOMS.md", "user/templates/refusals/rule.md", "project/.aops/workflows/x.md"] {
            assert_ne!(digests(&[(file, "x")]), bare, "{file}");
            assert_ne!(digests(&[(file, "x")]), digests(&[(file, "y")]), "{file}");
        }
        let same = ASSETS.iter().find(|asset| asset.path == "workflows/tdd-cycle.md").unwrap().text;
        assert_eq!(
            digests(&[("user/workflows/tdd-cycle.md", same)]),
            bare,
            "the same text, read from another place"
        );
    }
}

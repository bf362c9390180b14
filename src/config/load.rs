//! A file, the environment and flags come in, one checked [`Config`] or every problem with them goes out.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use figment::Figment;
use serde_json::{Map, Value};

use super::{
    Config, Errors, Files, check,
    layer::{Layer, variables},
    problem::{Found, KeyPath, Place, Problem},
    secret::Secrets,
    shape,
};

/// What a configuration is made of. Each source wins over those before it: built-in defaults, the file, the
/// environment, the flags.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The file: YAML or JSON by its extension, else TOML.
    pub file: Option<PathBuf>,
    /// The environment, for `TIDEGATE_…` and for secrets.
    pub environment: BTreeMap<String, OsString>,
    /// The flags.
    pub flags: Flags,
}

/// The flags that configure something by themselves.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--agent URL`.
    pub agent: Option<String>,
    /// `--listen ADDR`, once or more.
    pub listen: Vec<String>,
    /// `--admin ADDR`, or `off`.
    pub admin: Option<String>,
}

impl Sources {
    /// This file and these flags, with the environment of the process.
    pub fn of_process(file: Option<PathBuf>, flags: Flags) -> Self {
        let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value));
        Self { file, environment: std::env::vars_os().filter_map(text).collect(), flags }
    }
}

impl Config {
    /// Loads and checks a configuration. On failure nothing has happened but reading.
    pub fn load(sources: &Sources) -> Result<Self, Errors> {
        Self::load_from(sources, &RefCell::default())
    }

    /// The same, and what the files said that were read for it, whatever came of it.
    pub fn load_noting(sources: &Sources) -> (Result<Self, Errors>, Files) {
        let files = RefCell::default();
        let loaded = Self::load_from(sources, &files);
        (loaded, files.into_inner())
    }

    fn load_from(sources: &Sources, files: &RefCell<Files>) -> Result<Self, Errors> {
        let Some(path) = &sources.file else {
            return assemble(Layer::empty(), sources, Path::new(""), files);
        };
        let name = path.display().to_string();
        let fail = |what| Errors::from(Problem { place: Place::File(name.clone()), key: String::new(), what });
        let bytes =
            files.borrow_mut().read(path, u64::MAX).map_err(|error| fail(format!("cannot be read: {error}")))?;
        let text = String::from_utf8(bytes).map_err(|_| fail("not UTF-8; save it as UTF-8 text".into()))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        assemble(Layer::file(&text, &name)?, sources, folder, files)
    }

    /// Reads a configuration from the text of a TOML file alone, without any environment.
    pub fn from_toml(text: &str) -> Result<Self, Errors> {
        assemble(Layer::file(text, "tidegate.toml")?, &Sources::default(), Path::new(""), &RefCell::default())
    }
}

fn assemble(file: Layer, sources: &Sources, folder: &Path, files: &RefCell<Files>) -> Result<Config, Errors> {
    let (environment, unread) = variables(&sources.environment, &file.value);
    let flags = flags(&sources.flags);
    let mut places = file.places.clone();
    for layer in [&environment, &flags] {
        places.overlay(layer.places.clone(), &layer.leaves());
    }
    let mut found = Found::new(&places);
    found.extend(unread);
    let merged = Figment::from(file).merge(environment).merge(flags);
    let mut merged: Map<String, Value> = merged.extract().map_err(|error| Problem {
        place: Place::Nowhere,
        key: String::new(),
        what: error.to_string(),
    })?;
    let removed = shape::check(&mut merged, &mut found);
    let secrets = Secrets { environment: &sources.environment, folder: folder.to_owned(), files };
    let config = check::config(merged, &removed, &secrets, &mut found);
    found.finish()?;
    config
}

fn flags(flags: &Flags) -> Layer {
    let top = KeyPath::top();
    let listen = match flags.listen.as_slice() {
        [] => None,
        [one] => Some(Value::from(one.clone())),
        many => Some(Value::from(many)),
    };
    let agent = flags.agent.clone().map(Value::from);
    let admin = flags.admin.clone().map(Value::from);
    let set = [
        (top.key("agent"), "--agent", agent),
        (top.key("listen"), "--listen", listen),
        (top.key("admin").key("listen"), "--admin", admin),
    ];
    Layer::flags(set.into_iter().filter_map(|(path, flag, value)| Some((path, flag, value?))))
}

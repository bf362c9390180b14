//! The run input of one version comes in, the same for another version goes out. (skeleton)
use crate::agui::Version;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    Native,
    ForwardedProps,
}
#[derive(Clone, Copy, Debug)]
pub struct Between {
    pub client: Version,
    pub agent: Version,
    pub resume: Resume,
}
#[derive(Clone, Debug)]
pub struct Converted {
    pub text: Option<Vec<u8>>,
    pub client: Version,
    pub losses: Vec<&'static str>,
}
pub fn needed(_between: &Between) -> bool {
    false
}
pub fn convert(_input: &[u8], between: &Between) -> Converted {
    Converted { text: None, client: between.client, losses: Vec::new() }
}

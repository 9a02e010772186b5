//! Tags: they distinguish things of one name, as the test defines them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

type Tag = (Arc<str>, Arc<str>);

/// Names and their values, sorted by name. Clones share them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(type = "Record<string, string>"))]
pub struct Tags(Arc<[Tag]>);

impl Tags {
    /// Most tags of one item.
    pub const MAX: usize = 8;

    /// If a name has two values, the later one wins.
    pub fn new(tags: impl IntoIterator<Item = (impl Into<Arc<str>>, impl Into<Arc<str>>)>) -> Self {
        let mut sorted: Vec<Tag> = Vec::new();
        for (name, value) in tags {
            let (name, value) = (name.into(), value.into());
            match sorted.binary_search_by(|(known, _)| known.cmp(&name)) {
                Ok(at) => sorted[at].1 = value,
                Err(at) => sorted.insert(at, (name, value)),
            }
        }
        Self(sorted.into())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| **known == *name).map(|(_, value)| &**value)
    }

    /// The same tags with every name and value changed.
    pub(crate) fn map(&self, change: impl Fn(&str) -> Arc<str>) -> Self {
        Self::new(self.iter().map(|(name, value)| (change(name), change(value))))
    }
}

/// `region=eu, type=static`.
impl fmt::Display for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.iter().enumerate() {
            write!(f, "{}{name}={value}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// Serialized as an object.
impl Serialize for Tags {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(name, value)| (&**name, &**value)))
    }
}

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tags = std::collections::BTreeMap::<String, String>::deserialize(deserializer)?;
        Ok(Self::new(tags))
    }
}

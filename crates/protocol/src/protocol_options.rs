//! Settings of individual protocols, passed through layers that do not know them.

use std::any::Any;
use std::fmt;

/// The requirements for a protocol's settings. Implemented for all types that meet them.
pub trait ProtocolSettings: Any + fmt::Debug + Send + Sync {
    #[doc(hidden)]
    fn boxed_clone(&self) -> Box<dyn ProtocolSettings>;
}

impl<T: Any + fmt::Debug + Clone + Send + Sync> ProtocolSettings for T {
    fn boxed_clone(&self) -> Box<dyn ProtocolSettings> {
        Box::new(self.clone())
    }
}

/// The settings of each protocol that differ from its default: one value of each type, such as `http::HttpOptions`.
#[derive(Debug, Default)]
pub struct ProtocolOptions(Vec<Box<dyn ProtocolSettings>>);

impl ProtocolOptions {
    /// A protocol's settings, or their default.
    pub fn get<T: ProtocolSettings + Clone + Default>(&self) -> T {
        self.0.iter().find_map(|options| (&**options as &dyn Any).downcast_ref::<T>()).cloned().unwrap_or_default()
    }

    /// Replaces a protocol's settings.
    pub fn with<T: ProtocolSettings>(mut self, options: T) -> Self {
        self.set(options);
        self
    }

    /// Changes a protocol's settings.
    pub fn edit<T: ProtocolSettings + Clone + Default>(&mut self, change: impl FnOnce(&mut T)) {
        let mut options = self.get::<T>();
        change(&mut options);
        self.set(options);
    }

    fn set<T: ProtocolSettings>(&mut self, options: T) {
        self.0.retain(|other| !(&**other as &dyn Any).is::<T>());
        self.0.push(Box::new(options));
    }
}

impl Clone for ProtocolOptions {
    fn clone(&self) -> Self {
        Self(self.0.iter().map(|options| (**options).boxed_clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Default, PartialEq)]
    struct Depth(u32);

    #[derive(Debug, Clone, Default, PartialEq)]
    struct Name(String);

    #[test]
    fn each_type_has_its_own_value() {
        let mut options = ProtocolOptions::default().with(Depth(3)).with(Name("a".to_owned()));
        assert_eq!((options.get::<Depth>(), options.get::<Name>()), (Depth(3), Name("a".to_owned())));
        options.edit(|depth: &mut Depth| depth.0 += 1);
        let copy = options.clone().with(Name::default());
        assert_eq!((copy.get::<Depth>(), copy.get::<Name>()), (Depth(4), Name::default()));
        assert_eq!(options.get::<Name>(), Name("a".to_owned()));
        assert_eq!(ProtocolOptions::default().get::<Depth>(), Depth(0));
    }
}

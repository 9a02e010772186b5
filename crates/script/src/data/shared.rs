//! Values that all users on all cores share: `shared(name, initial)`.
//!
//! Values are stored as JSON, since realms cannot share objects. Each has a version, so that a realm reads a value again only after a
//! change. Changes from a script's function are compare-and-swap: none is lost, and no lock is held while a script runs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::elsewhere::{CommonHome, SharedChange, SharedCopy, SharedError, SharedNews, SharedResult};
use crate::extract::scan;

/// All shared values of a run, by name.
#[derive(Default)]
pub(crate) struct SharedValues {
    values: Mutex<BTreeMap<String, Arc<SharedValue>>>,
    /// The machine that stores the values, if it is another one.
    home: OnceLock<Arc<dyn CommonHome>>,
}

/// One shared value, on this machine or another.
#[derive(Debug)]
pub(crate) enum SharedValue {
    Here(SharedHere),
    Elsewhere(SharedCopy),
}

/// A shared value of this process.
#[derive(Debug)]
pub(crate) struct SharedHere {
    name: String,
    /// Counts the changes. Read without the lock to check whether a copy is current.
    version: AtomicU64,
    content: Mutex<SharedContent>,
}

/// Numbers and lists have their own representation, so that adding to them has a constant cost.
#[derive(Debug, Clone, PartialEq)]
enum SharedContent {
    Number(f64),
    /// JSON of each item.
    List(VecDeque<Box<str>>),
    /// JSON.
    Other(Box<str>),
}

impl SharedValues {
    /// The value of that name. The first caller's `initial` (JSON) is its first value.
    pub(crate) fn declare(&self, name: &str, initial: &str) -> Arc<SharedValue> {
        let mut values = lock(&self.values);
        if let Some(value) = values.get(name) {
            return Arc::clone(value);
        }
        let value = Arc::new(match self.home.get() {
            Some(home) => SharedValue::Elsewhere(SharedCopy::new(name, initial, Arc::clone(home))),
            None => SharedValue::Here(SharedHere::new(name, initial)),
        });
        values.insert(name.to_owned(), Arc::clone(&value));
        value
    }

    pub(super) fn get(&self, name: &str) -> Option<Arc<SharedValue>> {
        lock(&self.values).get(name).cloned()
    }

    /// Stores the values on another machine from now on. Call this before any value is declared.
    pub(crate) fn move_to(&self, home: Arc<dyn CommonHome>) {
        let _ = self.home.set(home);
    }

    /// Applies a notification of the machine that stores the values.
    pub(crate) fn receive(&self, text: &str) {
        let Ok(SharedNews { name, version }) = serde_json::from_str(text) else { return };
        if let Some(SharedValue::Elsewhere(copy)) = self.get(&name).as_deref() {
            copy.receive(version);
        }
    }
}

impl SharedValue {
    /// Executes an operation of another machine. Also returns the version afterwards.
    pub(super) fn carry_out(&self, change: SharedChange) -> (SharedResult, u64) {
        match self {
            SharedValue::Here(value) => value.carry_out(change),
            SharedValue::Elsewhere(copy) => (SharedResult::Refused(copy.away()), 0),
        }
    }

    /// Number of changes so far.
    pub(crate) fn version(&self) -> Result<u64, SharedError> {
        match self {
            SharedValue::Here(value) => Ok(value.version()),
            SharedValue::Elsewhere(copy) => Ok(copy.read()?.0),
        }
    }

    /// The value as JSON, and its version.
    pub(crate) fn read(&self) -> Result<(u64, String), SharedError> {
        match self {
            SharedValue::Here(value) => Ok(value.read()),
            SharedValue::Elsewhere(copy) => copy.read(),
        }
    }

    /// Replaces the value (JSON).
    pub(crate) fn set(&self, json: &str) -> Result<(), SharedError> {
        match self {
            SharedValue::Here(value) => value.set(json),
            SharedValue::Elsewhere(copy) => _ = copy.change(SharedChange::Set(json.to_owned()))?,
        }
        Ok(())
    }

    /// Replaces the value unless it has changed since `version`. Returns whether it did.
    pub(crate) fn replace_if(&self, version: u64, json: &str) -> Result<bool, SharedError> {
        match self {
            SharedValue::Here(value) => Ok(value.replace_if(version, json)),
            SharedValue::Elsewhere(copy) => match copy.change(SharedChange::ReplaceIf { version, json: json.to_owned() })? {
                SharedResult::Done(done) => Ok(done),
                _ => Err(copy.away()),
            },
        }
    }

    /// Adds to a number. Returns the new value.
    pub(crate) fn increment(&self, by: f64) -> Result<f64, SharedError> {
        match self {
            SharedValue::Here(value) => value.increment(by),
            SharedValue::Elsewhere(copy) => match copy.change(SharedChange::Increment(by))? {
                SharedResult::Number(number) => Ok(number),
                _ => Err(copy.away()),
            },
        }
    }

    /// Appends items (JSON) to a list. Returns its new length.
    pub(crate) fn push(&self, items: Vec<Box<str>>) -> Result<usize, SharedError> {
        match self {
            SharedValue::Here(value) => value.push(items),
            SharedValue::Elsewhere(copy) => match copy.change(SharedChange::Push(items))? {
                SharedResult::Length(length) => Ok(length),
                _ => Err(copy.away()),
            },
        }
    }

    /// Removes the first item (JSON) of a list and returns it. `None` when the list is empty.
    pub(crate) fn shift(&self) -> Result<Option<Box<str>>, SharedError> {
        match self {
            SharedValue::Here(value) => value.shift(),
            SharedValue::Elsewhere(copy) => match copy.change(SharedChange::Shift)? {
                SharedResult::Item(item) => Ok(item),
                _ => Err(copy.away()),
            },
        }
    }
}

impl SharedHere {
    fn new(name: &str, initial: &str) -> Self {
        Self { name: name.to_owned(), version: AtomicU64::new(0), content: Mutex::new(SharedContent::parse(initial)) }
    }

    /// Number of changes so far.
    fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The value as JSON, and its version.
    fn read(&self) -> (u64, String) {
        let content = lock(&self.content);
        (self.version(), content.to_json())
    }

    /// Replaces the value (JSON).
    fn set(&self, json: &str) {
        let parsed = SharedContent::parse(json);
        let mut content = lock(&self.content);
        *content = parsed;
        self.changed();
    }

    /// Replaces the value unless it has changed since `version`. Returns whether it did.
    fn replace_if(&self, version: u64, json: &str) -> bool {
        let parsed = SharedContent::parse(json);
        let mut content = lock(&self.content);
        if self.version() != version {
            return false;
        }
        *content = parsed;
        self.changed();
        true
    }

    /// Adds to a number. Returns the new value.
    fn increment(&self, by: f64) -> Result<f64, SharedError> {
        let mut content = lock(&self.content);
        let SharedContent::Number(number) = &mut *content else { return Err(self.wrong_kind(&content, "a number")) };
        *number += by;
        let number = *number;
        self.changed();
        Ok(number)
    }

    /// Appends items (JSON) to a list. Returns its new length.
    fn push(&self, items: Vec<Box<str>>) -> Result<usize, SharedError> {
        let mut content = lock(&self.content);
        let SharedContent::List(list) = &mut *content else { return Err(self.wrong_kind(&content, "a list")) };
        list.extend(items);
        let length = list.len();
        self.changed();
        Ok(length)
    }

    /// Removes the first item (JSON) of a list and returns it. `None` when the list is empty.
    fn shift(&self) -> Result<Option<Box<str>>, SharedError> {
        let mut content = lock(&self.content);
        let SharedContent::List(list) = &mut *content else { return Err(self.wrong_kind(&content, "a list")) };
        let item = list.pop_front();
        if item.is_some() {
            self.changed();
        }
        Ok(item)
    }

    /// Called with the lock held, so that each version has one content.
    fn changed(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Executes an operation of another machine. Also returns the version afterwards.
    fn carry_out(&self, change: SharedChange) -> (SharedResult, u64) {
        let result = match change {
            SharedChange::Read => {
                let (version, json) = self.read();
                return (SharedResult::Value(json), version);
            }
            SharedChange::Set(json) => {
                self.set(&json);
                SharedResult::Done(true)
            }
            SharedChange::ReplaceIf { version, json } => SharedResult::Done(self.replace_if(version, &json)),
            SharedChange::Increment(by) => self.increment(by).map_or_else(SharedResult::Refused, SharedResult::Number),
            SharedChange::Push(items) => self.push(items).map_or_else(SharedResult::Refused, SharedResult::Length),
            SharedChange::Shift => self.shift().map_or_else(SharedResult::Refused, SharedResult::Item),
            SharedChange::Version => SharedResult::Done(true),
        };
        (result, self.version())
    }

    fn wrong_kind(&self, content: &SharedContent, wanted: &str) -> SharedError {
        let found = match content {
            SharedContent::Number(_) => "a number",
            SharedContent::List(_) => "a list",
            SharedContent::Other(text) => match text.as_bytes().first() {
                Some(b'"') => "a string",
                Some(b'{') => "an object",
                Some(b't' | b'f') => "true or false",
                _ => "null",
            },
        };
        SharedError::WrongKind { name: self.name.clone(), found: found.to_owned(), wanted: wanted.to_owned() }
    }
}

impl SharedContent {
    fn parse(json: &str) -> Self {
        let json = json.trim();
        match json.as_bytes().first() {
            Some(b'[') => match scan::items(json.as_bytes()) {
                Ok(Some(places)) => SharedContent::List(places.into_iter().map(|place| json[place].into()).collect()),
                _ => SharedContent::Other(json.into()),
            },
            Some(b'-' | b'0'..=b'9') => json.parse().map_or_else(|_| SharedContent::Other(json.into()), SharedContent::Number),
            _ => SharedContent::Other(json.into()),
        }
    }

    fn to_json(&self) -> String {
        match self {
            // Finite as long as additions stay in range. JSON has no other numbers.
            SharedContent::Number(number) if number.is_finite() => format!("{number}"),
            SharedContent::Number(_) => "null".to_owned(),
            SharedContent::List(items) => {
                let mut json = String::with_capacity(2 + items.iter().map(|item| item.len() + 1).sum::<usize>());
                json.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        json.push(',');
                    }
                    json.push_str(item);
                }
                json.push(']');
                json
            }
            SharedContent::Other(json) => json.to_string(),
        }
    }
}

/// No code panics while it holds these locks, so the data is consistent even after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::thread;

    fn value(initial: &str) -> Arc<SharedValue> {
        SharedValues::default().declare("v", initial)
    }

    fn on_four_threads(value: &Arc<SharedValue>, work: impl Fn(usize, &SharedValue) + Copy + Send + 'static) {
        let threads: Vec<_> = (0..4)
            .map(|number| {
                let value = Arc::clone(value);
                thread::spawn(move || work(number, &value))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }

    #[test]
    fn a_name_is_one_value_and_the_first_initial_value_applies() {
        let values = SharedValues::default();
        values.declare("a", "1").set("5").unwrap();
        assert_eq!(values.declare("a", "2").read(), Ok((1, "5".to_owned())));
        assert_eq!(values.declare("b", "2").read(), Ok((0, "2".to_owned())));
    }

    #[test]
    fn no_increment_is_lost() {
        let value = value("0");
        on_four_threads(&value, |_, value| (0..1_000).for_each(|_| assert!(value.increment(2.0).is_ok())));
        assert_eq!(value.read(), Ok((4_000, "8000".to_owned())));
    }

    #[test]
    fn no_update_is_lost() {
        let value = value("{\"n\":0}");
        on_four_threads(&value, |_, value| {
            for _ in 0..500 {
                loop {
                    let (version, json) = value.read().unwrap();
                    let n: u32 = json.trim_start_matches("{\"n\":").trim_end_matches('}').parse().unwrap();
                    if value.replace_if(version, &format!("{{\"n\":{}}}", n + 1)).unwrap() {
                        break;
                    }
                }
            }
        });
        assert_eq!(value.read().unwrap().1, "{\"n\":2000}");
    }

    #[test]
    fn no_item_is_shifted_twice() {
        let value = value("[]");
        on_four_threads(&value, |number, value| {
            (0..500).for_each(|n| assert!(value.push(vec![format!("{}", number * 500 + n).into()]).is_ok()))
        });
        let taken = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&taken);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (value, sink) = (Arc::clone(&value), Arc::clone(&sink));
                thread::spawn(move || {
                    while let Some(item) = value.shift().unwrap() {
                        sink.lock().unwrap().push(item);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let taken = taken.lock().unwrap();
        assert_eq!(taken.len(), 2_000);
        assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), 2_000);
        assert_eq!(value.read().unwrap().1, "[]");
    }

    #[test]
    fn written_values_are_read_back() {
        for json in ["null", "true", "\"a,b\"", "-1.5", "[1,\"x\",[2]]", "{\"a\":[1,2]}", "[]"] {
            let value = value("0");
            value.set(json).unwrap();
            assert_eq!(value.read(), Ok((1, json.to_owned())));
        }
    }

    #[test]
    fn the_wrong_kind_is_named() {
        let message = value("[1]").increment(1.0).unwrap_err().to_string();
        assert_eq!(message, "shared \"v\" holds a list, and this operation needs a number");
        let message = value("\"x\"").push(vec![]).unwrap_err().to_string();
        assert_eq!(message, "shared \"v\" holds a string, and this operation needs a list");
        assert!(value("{}").shift().is_err());
    }
}

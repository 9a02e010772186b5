//! Data that users of several machines share, on the machine that stores it. It executes the operations of the others, see `elsewhere`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::collection::CollectError;
use super::elsewhere::{RowsSent, SharedAnswer, SharedChange, SharedNews, SharedQuestion};
use super::store::Store;
use crate::permissions::AccessKind;

/// Shared values and collected rows, for users of other machines.
pub struct CommonData {
    store: Arc<Store>,
    /// Of the test.
    folder: PathBuf,
    /// By value: the version that each machine has read, until the machine is notified of a later one.
    readers: BTreeMap<String, BTreeMap<usize, u64>>,
}

impl std::fmt::Debug for CommonData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommonData").field("readers", &self.readers).finish_non_exhaustive()
    }
}

impl CommonData {
    pub(crate) fn new(store: Arc<Store>, folder: PathBuf) -> Self {
        Self { store, folder, readers: BTreeMap::new() }
    }

    /// Answers a request of [`CommonHome::ask`] on this machine.
    pub fn answer(&mut self, machine: usize, question: &str) -> String {
        let Ok(SharedQuestion { name, initial, change }) = serde_json::from_str::<SharedQuestion>(question) else { return String::new() };
        let value = self.store.shared().declare(&name, &initial);
        let reads = change == SharedChange::Read;
        let (result, version) = value.carry_out(change);
        if reads {
            self.readers.entry(name).or_default().insert(machine, version);
        }
        serde_json::to_string(&SharedAnswer { result, version }).unwrap_or_default()
    }

    /// Stores rows of [`CommonHome::send`].
    ///
    /// # Errors
    /// They cannot be written, or their columns differ from those of earlier rows.
    pub fn take(&self, text: &str) -> Result<(), crate::ScriptError> {
        let Ok(RowsSent { path, header, lines }) = serde_json::from_str::<RowsSent>(text) else { return Ok(()) };
        let path = self.folder.join(path);
        self.store.access().check(AccessKind::Write, &path).map_err(|refused| crate::ScriptError::new(refused.to_string()))?;
        let file = self.store.collections().declare(&path);
        let added: Result<(), CollectError> = lines.iter().try_for_each(|line| file.add(&header, line));
        added.map_err(|error| crate::ScriptError::new(error.to_string()))
    }

    /// The pending notifications, by machine: values that it has read have changed since.
    pub fn news(&mut self) -> Vec<(usize, String)> {
        let mut news = Vec::new();
        for (name, machines) in &mut self.readers {
            let version = self.store.shared().get(name).map_or(0, |value| value.carry_out(SharedChange::Version).1);
            for (machine, _) in machines.extract_if(.., |_, read| *read != version) {
                let text = SharedNews { name: name.clone(), version };
                news.push((machine, serde_json::to_string(&text).unwrap_or_default()));
            }
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::elsewhere::CommonHome;
    use crate::data::shared::SharedValues;
    use crate::permissions::{FileAccess, Permissions};
    use std::path::Path;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A machine whose requests are answered at once.
    struct Direct {
        machine: usize,
        data: Arc<Mutex<CommonData>>,
        asked: AtomicU64,
    }

    impl CommonHome for Direct {
        fn ask(&self, question: String) -> Option<String> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            Some(self.data.lock().unwrap().answer(self.machine, &question))
        }

        fn send(&self, text: String) {
            self.data.lock().unwrap().take(&text).unwrap();
        }
    }

    type Machine = (Arc<Direct>, SharedValues);

    /// Two machines, and the notifications that are in transit to them.
    fn machines() -> (Arc<Mutex<CommonData>>, [Machine; 2]) {
        let data =
            Arc::new(Mutex::new(CommonData::new(Store::new(1, FileAccess::new(Path::new("/"), &Permissions::default())), PathBuf::new())));
        let machine = |machine| {
            let home = Arc::new(Direct { machine, data: Arc::clone(&data), asked: AtomicU64::new(0) });
            let values = SharedValues::default();
            values.move_to(Arc::clone(&home) as Arc<dyn CommonHome>);
            (home, values)
        };
        let machines = [machine(0), machine(1)];
        (data, machines)
    }

    fn spread(data: &Mutex<CommonData>, machines: &[Machine; 2]) {
        for (machine, text) in data.lock().unwrap().news() {
            machines[machine].1.receive(&text);
        }
    }

    #[test]
    fn changes_of_all_machines_apply_once_and_in_one_order() {
        let (data, machines) = machines();
        let values = [0, 1].map(|machine: usize| machines[machine].1.declare("n", "0"));
        assert_eq!([values[0].increment(2.0), values[1].increment(3.0)], [Ok(2.0), Ok(5.0)]);
        assert_eq!(values[0].read(), Ok((2, "5".to_owned())));
        assert_eq!(values[1].replace_if(1, "9"), Ok(false), "it has changed since");
        assert_eq!(values[1].replace_if(2, "9"), Ok(true));
        spread(&data, &machines);
        assert_eq!(values[0].read(), Ok((3, "9".to_owned())));
        let lists = [0, 1].map(|machine: usize| machines[machine].1.declare("l", "[]"));
        assert_eq!(lists[0].push(vec!["1".into(), "2".into()]), Ok(2));
        assert_eq!([lists[1].shift(), lists[0].shift(), lists[1].shift()], [Ok(Some("1".into())), Ok(Some("2".into())), Ok(None)]);
        assert_eq!(lists[1].increment(1.0).unwrap_err().to_string(), "shared \"l\" holds a list, and this operation needs a number");
    }

    #[test]
    fn a_value_is_read_again_only_after_a_change() {
        let (data, machines) = machines();
        let values = [0, 1].map(|machine: usize| machines[machine].1.declare("token", "\"a\""));
        let asked = |machine: usize| machines[machine].0.asked.load(Ordering::Relaxed);
        (0..5).for_each(|_| assert_eq!(values[0].read(), Ok((0, "\"a\"".to_owned()))));
        assert_eq!((asked(0), values[0].version()), (1, Ok(0)));
        values[1].set("\"b\"").unwrap();
        assert_eq!(values[0].read(), Ok((0, "\"a\"".to_owned())), "the notification is in transit");
        spread(&data, &machines);
        assert_eq!((values[0].version(), values[0].read()), (Ok(1), Ok((1, "\"b\"".to_owned()))));
        assert_eq!(asked(0), 2);
        values[0].set("\"c\"").unwrap();
        assert_eq!(values[0].read(), Ok((2, "\"c\"".to_owned())), "its own change is seen at once");
    }

    #[test]
    fn a_value_without_an_answer_is_an_error() {
        struct Nobody;
        impl CommonHome for Nobody {
            fn ask(&self, _: String) -> Option<String> {
                None
            }
            fn send(&self, _: String) {}
        }
        let values = SharedValues::default();
        values.move_to(Arc::new(Nobody));
        let error = values.declare("n", "0").increment(1.0).unwrap_err().to_string();
        assert_eq!(error, "shared \"n\": the fleet's controller does not answer");
    }
}

//! One experiment of the benchmark: a stack with a fault, under a load, watched from somewhere.

use anyhow::{Result, bail};

use super::catalogue::{Catalogue, HEALTHY};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    pub(crate) stack: String,
    pub(crate) fault: String,
    pub(crate) severity: String,
    pub(crate) load: String,
    pub(crate) observe: String,
    pub(crate) repeat: u32,
}

impl Cell {
    /// `node/row-lock/plain/ramp/all/1`
    pub(crate) fn name(&self) -> String {
        format!("{}/{}/{}/{}/{}/{}", self.stack, self.fault, self.severity, self.load, self.observe, self.repeat)
    }

    pub(crate) fn is_healthy(&self) -> bool {
        self.fault.starts_with(HEALTHY)
    }

    pub(crate) fn parse(name: &str) -> Result<Self> {
        let parts: Vec<&str> = name.split('/').collect();
        let [stack, fault, severity, load, observe, repeat] = parts[..] else {
            bail!("{name:?} is not STACK/FAULT/SEVERITY/LOAD/OBSERVATION/REPEAT");
        };
        let own = str::to_owned;
        Ok(Self {
            stack: own(stack),
            fault: own(fault),
            severity: own(severity),
            load: own(load),
            observe: own(observe),
            repeat: repeat.parse()?,
        })
    }
}

/// All of them, one repeat after the other, so that a benchmark that is cut short has seen everything as often as it could.
pub(crate) fn all(catalogue: &Catalogue, repeats: u32) -> Vec<Cell> {
    let mut cells = Vec::new();
    for repeat in 1..=repeats {
        for stack in &catalogue.stacks {
            for fault in catalogue.faults.iter().filter(|fault| fault.stacks.contains(stack)) {
                for severity in &fault.severities {
                    for load in &fault.loads {
                        for observe in &fault.observe {
                            cells.push(Cell {
                                stack: stack.clone(),
                                fault: fault.name.clone(),
                                severity: severity.name.clone(),
                                load: load.clone(),
                                observe: observe.clone(),
                                repeat,
                            });
                        }
                    }
                }
            }
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slice_is_some_of_all_cells() {
        let catalogue = Catalogue::read(super::super::root()).unwrap();
        let all: Vec<String> = all(&catalogue, 1).iter().map(Cell::name).collect();
        let unknown: Vec<&String> = catalogue.slice.iter().filter(|name| !all.contains(name)).collect();
        assert!(unknown.is_empty() && !catalogue.slice.is_empty(), "{unknown:?}");
        assert!(catalogue.slice.iter().any(|name| name.contains("/healthy/")), "accusing nobody is half of being right");
    }

    #[test]
    fn a_name_is_read_back() {
        let name = "node/row-lock/plain/ramp/all/2";
        assert_eq!(Cell::parse(name).unwrap().name(), name);
        assert!(Cell::parse("node/row-lock").is_err());
    }
}

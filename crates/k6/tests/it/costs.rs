//! What an iteration costs, in counts that do not depend on the machine.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_engine::{Arrival, Iteration, IterationEnd, UserFactory, VirtualUser, WorkerContext};
use loadstone_k6::{K6Inputs, K6Sinks, K6Users};
use loadstone_metrics::clock::{Clock, Monotonic};
use loadstone_metrics::{Outcome, Recorder};
use loadstone_plan::ScenarioId;

use crate::harness::{folder, loaded};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts the allocations of each thread.
struct Counting;

// SAFETY: all calls go to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Fails only while a thread ends.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Answers the requests of one connection, on another thread. Returns its address.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let lines = BufReader::new(connection.try_clone().unwrap()).lines();
        for line in lines.map_while(Result::ok) {
            if line.is_empty() {
                let body = r#"{"id":1,"name":"x"}"#;
                let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
                connection.write_all(format!("{head}{body}").as_bytes()).unwrap();
            }
        }
    });
    format!("http://{address}/")
}

/// Allocations of Rust code in one iteration, after some others. Those of QuickJS are not counted.
fn allocations_of_iteration(script: &str) -> u64 {
    let folder = folder(&[("script.js", script)]);
    let test = Arc::new(loaded(folder.path(), &K6Inputs::default()).unwrap_or_else(|error| panic!("{}", error.render())));
    let clock = Clock::real(Monotonic::start());
    let recorder = Rc::new(RefCell::new(Recorder::new(0, 100)));
    let context = WorkerContext { index: 0, workers: 1, first: 0, clock: clock.clone(), recorder };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let users = K6Users::new(&test, &context, K6Sinks::default()).unwrap();
        let mut user = users.new_user(0, ScenarioId(0), 0).unwrap();
        let mut least = u64::MAX;
        for sequence in 0..50 {
            let arrival = Arrival { scheduled: clock.now(), scenario: ScenarioId(0), sequence };
            let iteration = Iteration { arrival, leaf: 0, open: false, waited_for_user: false, load_end: Rc::new(Cell::new(u64::MAX)) };
            let before = ALLOCATIONS.get();
            assert_eq!(user.iterate(iteration).await, IterationEnd::Ended(Outcome::Passed));
            // A table that grows allocates in one iteration of many.
            least = least.min(ALLOCATIONS.get() - before);
        }
        least
    })
}

#[test]
fn an_iteration_with_a_request_and_a_check_allocates_little() {
    let url = server();
    let allocations = allocations_of_iteration(&format!(
        r#"import http from "k6/http"; import {{ check }} from "k6";
        export default function () {{ check(http.get("{url}"), {{ ok: (r) => r.status === 200 }}); }}"#
    ));
    assert!(allocations < 40, "{allocations} allocations");
}

//! StatsD and DogStatsD, as they come out of a socket.

use std::net::UdpSocket;
use std::time::Duration;

use crate::made;

/// All lines that one second makes.
fn lines(kind: &str) -> Vec<String> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    socket.set_read_timeout(Some(Duration::from_secs(30))).expect("a time limit");
    let delivery = made::send(&format!("{kind}={}", socket.local_addr().expect("an address")), "r1", 1);
    assert_eq!((delivery.delivered, delivery.lost), (1, 0), "{delivery:?}");
    // All of it fits one datagram.
    let mut buffer = [0; 2000];
    let length = socket.recv(&mut buffer).expect("a datagram");
    std::str::from_utf8(&buffer[..length]).expect("UTF-8").lines().map(str::to_owned).collect()
}

#[test]
fn plain_statsd_carries_everything_in_its_names() {
    let lines = lines("statsd");
    for line in [
        "loadstone.Buy.GET__a__b__c_d_.requests.passed:99|c",
        "loadstone.Buy.GET__a__b__c_d_.requests.status:1|c",
        "loadstone.Buy.GET__a__b__c_d_.response_time.max:0.1|g",
        "loadstone.Buy.iterations.passed:99|c",
        "loadstone.Buy.users_active:7|g",
        "loadstone.Delivery.flow_time.max:0.02|g",
    ] {
        assert!(lines.iter().any(|sent| sent == line), "no {line} in {lines:#?}");
    }
}

#[test]
fn dogstatsd_carries_tags() {
    let lines = lines("dogstatsd");
    let wanted = "loadstone.requests:1|c|#scenario:Buy,name:GET /a_ b=\"c d\",outcome:status,run:r1,test:Shop";
    assert!(lines.iter().any(|sent| sent == wanted), "no {wanted} in {lines:#?}");
    assert!(lines.iter().all(|line| line.split('|').count() == 3), "{lines:#?}");
}

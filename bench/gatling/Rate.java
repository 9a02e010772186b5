// The peer's way to send one GET per arrival at a constant rate: open load. Each arrival is a new user; `share` lets them share connections.

import static io.gatling.javaapi.core.CoreDsl.constantUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.exec;
import static io.gatling.javaapi.core.CoreDsl.scenario;
import static io.gatling.javaapi.http.HttpDsl.http;
import static io.gatling.javaapi.http.HttpDsl.status;

import io.gatling.javaapi.core.ScenarioBuilder;
import io.gatling.javaapi.core.Simulation;
import io.gatling.javaapi.http.HttpProtocolBuilder;

public class Rate extends Simulation {
  {
    int rate = Integer.getInteger("rate");
    int seconds = Integer.getInteger("seconds");
    ScenarioBuilder get = scenario("GET").exec(http("GET").get(System.getProperty("url")).check(status().is(200)));
    HttpProtocolBuilder plain = http.disableCaching();
    setUp(get.injectOpen(constantUsersPerSec(rate).during(seconds)))
        .protocols(Boolean.getBoolean("share") ? plain.shareConnections() : plain);
  }
}

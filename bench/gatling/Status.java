// The peer's way to write one GET and a check of its status, in a closed loop.

import static io.gatling.javaapi.core.CoreDsl.atOnceUsers;
import static io.gatling.javaapi.core.CoreDsl.exec;
import static io.gatling.javaapi.core.CoreDsl.scenario;
import static io.gatling.javaapi.http.HttpDsl.http;
import static io.gatling.javaapi.http.HttpDsl.status;

import io.gatling.javaapi.core.ScenarioBuilder;
import io.gatling.javaapi.core.Simulation;

public class Status extends Simulation {
  {
    int users = Integer.getInteger("users");
    int seconds = Integer.getInteger("seconds");
    ScenarioBuilder get = scenario("GET").during(seconds).on(exec(http("GET").get(System.getProperty("url")).check(status().is(200))));
    setUp(get.injectOpen(atOnceUsers(users))).protocols(http.disableCaching());
  }
}

// The visits of shop.load.ts by Gatling: 2 to 40 visits a second.

import static io.gatling.javaapi.core.CoreDsl.exec;
import static io.gatling.javaapi.core.CoreDsl.rampUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.scenario;
import static io.gatling.javaapi.http.HttpDsl.http;

import io.gatling.javaapi.core.ScenarioBuilder;
import io.gatling.javaapi.core.Simulation;
import java.util.concurrent.ThreadLocalRandom;

public class ShopVisits extends Simulation {
  {
    int seconds = Integer.getInteger("seconds");
    ScenarioBuilder visit =
        scenario("Visit")
            .exec(http("List").get("/list"))
            .exec(http("Item").get(session -> "/item?code=P" + ThreadLocalRandom.current().nextInt(1, 1001)))
            .exec(http("Login").post("/login"))
            .exec(http("Buy").post("/buy"))
            .exec(http("Report").get("/report"));
    setUp(visit.injectOpen(rampUsersPerSec(2).to(40).during(seconds)))
        .protocols(http.baseUrl(System.getProperty("target")).disableCaching())
        .maxDuration(seconds + 2);
  }
}

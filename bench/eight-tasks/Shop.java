// The load of examples/demo.load.ts for Gatling, for bench/results/eight-tasks.md.

import static io.gatling.javaapi.core.CoreDsl.StringBody;
import static io.gatling.javaapi.core.CoreDsl.constantUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.details;
import static io.gatling.javaapi.core.CoreDsl.exec;
import static io.gatling.javaapi.core.CoreDsl.global;
import static io.gatling.javaapi.core.CoreDsl.jsonPath;
import static io.gatling.javaapi.core.CoreDsl.rampUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.randomSwitch;
import static io.gatling.javaapi.core.CoreDsl.percent;
import static io.gatling.javaapi.core.CoreDsl.scenario;
import static io.gatling.javaapi.http.HttpDsl.http;
import static io.gatling.javaapi.http.HttpDsl.status;

import io.gatling.javaapi.core.ScenarioBuilder;
import io.gatling.javaapi.core.Simulation;
import java.time.Duration;

public class Shop extends Simulation {
  private static final String ITEM = "{\"product\": #{randomInt(1,200)}, \"count\": 1}";

  private final ScenarioBuilder browse = scenario("Browse")
      .exec(http("List products").get("/products?page=#{randomInt(1,10)}").check(jsonPath("$.products[*].id").findRandom().saveAs("id")))
      .pause(Duration.ofMillis(100), Duration.ofMillis(300))
      .exec(http("Show product").get("/products/#{id}"))
      .randomSwitch().on(percent(30.0).then(exec(http("Search").get("/search?q=lantern"))));

  private final ScenarioBuilder buy = scenario("Buy")
      .exec(http("Create cart").post("/carts").check(jsonPath("$.id").saveAs("cart")))
      .exec(http("Add to cart").post("/carts/#{cart}/items").body(StringBody(ITEM)).asJson())
      .exec(http("Check out").post("/checkout").body(StringBody("{\"cart\": \"#{cart}\"}")).asJson()
          .check(status().is(201)).check(jsonPath("$.status").is("paid")));

  {
    setUp(browse.injectOpen(constantUsersPerSec(20).during(30)), buy.injectOpen(rampUsersPerSec(10).to(130).during(30)))
        .protocols(http.baseUrl(System.getProperty("target", "http://127.0.0.1:8080")).shareConnections())
        .assertions(
            details("Show product").responseTime().percentile(95).lt(50),
            details("Check out").responseTime().percentile(95).lt(250),
            global().failedRequests().percent().lt(1.0));
  }
}

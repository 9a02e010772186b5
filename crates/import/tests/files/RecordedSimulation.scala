package bakery

import scala.concurrent.duration._

import io.gatling.core.Predef._
import io.gatling.http.Predef._

class RecordedSimulation extends Simulation {

  private val httpProtocol = http
    .baseUrl("http://127.0.0.1:9")
    .inferHtmlResources(AllowList(), DenyList(""".*\.js""", """.*\.css"""))
    .acceptHeader("*/*")
    .userAgentHeader("Mozilla/5.0 (X11; Linux x86_64)")

  private val headers_0 = Map(
  		"Sec-Fetch-Mode" -> "navigate",
  		"X-Bakery" -> "north \"wing\""
  )

  private val headers_4 = Map(
  		"Content-Type" -> "application/json",
  		"Authorization" -> "Bearer tok-recorded-1234",
  		"sec-ch-ua" -> """"Chromium";v="138""""
  )

  private val uri1 = "http://cdn.example"

  private val scn = scenario("RecordedSimulation")
    .exec(
      http("request_0")
        .get("/anything/loaves?kind=rye")
        .headers(headers_0)
        .resources(
          http("request_1").get("/static/bakery.css"), // a style
          http("request_2").get(uri1 + "/logo.svg"),
          http("request_3").get("/anything/prices")
        ),
      pause(1.5),
      http("request_4")
        .post("/anything/orders")
        .headers(headers_4)
        .body(RawFileBody("recordedsimulation/0004_request.json"))
        .check(jsonPath("$.json.loaf").saveAs("loaf")),
    )
    .pause(678.milliseconds)
    .exec(
      http("Log in")
        .post("/anything/login")
        .formParam("name", "ann")
        .formParam("password", "hunter2-recorded"),
      http("request_6")
        .get("/anything/#{loaf}/slices")
        .queryParam("thick", "very thick"),
      http("request_7")
        .get("/status/404")
        .check(status.is(404))
    )

	setUp(scn.inject(atOnceUsers(1))).protocols(httpProtocol)
}

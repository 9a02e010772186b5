# Takes content changes, and hands them on to the workers.

require "puma"
require_relative "jobs"

app = lambda do |request|
  topic = Integer(JSON.parse(request["rack.input"].read).fetch("topic"))
  change = Change.create!(topic: topic, title: "Change of topic #{topic}")
  MatchJob.perform_async(change.id)
  [201, { "content-type" => "application/json" }, [JSON.generate(id: change.id)]]
end

server = Puma::Server.new(app, Puma::Events.null, min_threads: 4, max_threads: 4)
server.add_tcp_listener("127.0.0.1", Integer(ENV.fetch("PORT")))
trap("TERM") { exit!(0) }
server.run.join

# The layers of the service as Sidekiq jobs: match the subscribers of a change, generate an e-mail for each, deliver it.

require "active_record"
require "activerecord-import"
require "net/http"
require "sidekiq"
require "statsd"

Sidekiq.configure_server do |config|
  config.redis = { url: ENV.fetch("REDIS_URL") }
  config.on(:startup) { $stdout.write("listening 0\n"); $stdout.flush }
end
Sidekiq.configure_client { |config| config.redis = { url: ENV.fetch("REDIS_URL") } }
Sidekiq.logger.level = Logger::ERROR
ActiveRecord::Base.establish_connection("#{ENV.fetch("DATABASE_URL")}?pool=#{ENV.fetch("POOL")}")

STATSD = Statsd.new(*ENV.fetch("STATSD", "127.0.0.1:8125").split(":"))
API = URI(ENV.fetch("API_URL", "http://127.0.0.1:9097"))

class Subscriber < ActiveRecord::Base; end
class Change < ActiveRecord::Base; end
class Email < ActiveRecord::Base; end

class MatchJob
  include Sidekiq::Worker
  sidekiq_options queue: "match"

  def perform(change_id)
    change = Change.find(change_id)
    rows = Subscriber.where(topic: change.topic).map { |subscriber| { change_id: change_id, subscriber_id: subscriber.id } }
    ids = ENV["INSERT"] == "each" ? rows.map { |row| Email.create!(row).id } : Email.import(rows, validate: false).ids
    change.update!(matched_at: Time.now)
    Sidekiq::Client.push_bulk("class" => GenerateJob, "args" => ids.map { |id| [id] })
    STATSD.count("matched", ids.size)
  end
end

class GenerateJob
  include Sidekiq::Worker
  sidekiq_options queue: "generate"

  def perform(email_id)
    STATSD.time("generate") do
      email = Email.find(email_id)
      # As it was found: every change is read to pick the one that the e-mail is about.
      changes = ENV["QUERY"] == "every" ? Change.order("md5(title)").limit(1).to_a : []
      change = Change.find(email.change_id)
      email.update!(body: "#{change.title} (#{changes.size} before it)", generated_at: Time.now)
    end
    DeliverJob.perform_async(email_id)
    STATSD.increment("generated")
  end
end

# Each worker keeps to its part of what the API allows.
module Limiter
  EACH = Float(ENV.fetch("LIMITER_WORKERS")) / Float(ENV.fetch("API_LIMIT"))

  def self.wait
    now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    due = [Thread.current[:limiter_due] || now, now].max
    Thread.current[:limiter_due] = due + EACH
    sleep(due - now) if due > now
  end
end

class DeliverJob
  include Sidekiq::Worker
  sidekiq_options queue: "deliver"

  def perform(email_id)
    Limiter.wait
    email = Email.find(email_id)
    response = STATSD.time("deliver") { api.post("/v2/notifications/email", JSON.generate(key: "#{email.change_id}/#{email.subscriber_id}")) }
    raise "the API responded #{response.code}" unless response.code == "201"
    email.update!(delivered_at: Time.now)
    STATSD.increment("delivered")
  end

  private

  # A connection of its own for each worker.
  def api
    Thread.current[:api] ||= Net::HTTP.start(API.host, API.port, read_timeout: 10, keep_alive_timeout: 60)
  end
end

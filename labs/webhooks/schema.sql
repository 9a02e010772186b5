create table subscriptions (
  id         uuid primary key default gen_random_uuid(),
  account    text not null,
  event_type text not null,
  url        text not null,
  created_at timestamptz not null default now()
);

create index subscriptions_by_event on subscriptions (account, event_type);

-- A message to one subscriber about one event.
create table deliveries (
  id           uuid primary key default gen_random_uuid(),
  subscription uuid not null references subscriptions on delete cascade,
  event_id     uuid not null,
  body         jsonb not null,
  state        text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  attempts     integer not null default 0,
  created_at   timestamptz not null default clock_timestamp(),
  due_at       timestamptz not null default clock_timestamp(),
  -- The queue hands an event out at least once; a subscriber gets one message of it.
  unique (subscription, event_id)
);

-- Delivered messages stay for the history; what is left to do is found without walking over them.
create index pending_deliveries on deliveries (id) where state = 'pending';

create table attempts (
  delivery  uuid not null references deliveries on delete cascade,
  number    integer not null,
  picked_at timestamptz not null,
  ended_at  timestamptz not null,
  status    integer,
  error     text,
  primary key (delivery, number)
);

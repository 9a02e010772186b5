create table products (
  id            text primary key,
  name          text not null,
  price_cents   integer not null,
  valid_minutes integer not null
);

-- Who sells what: an app, a web shop, a machine at a station.
create table channels (
  id   serial primary key,
  name text not null
);

create table channel_products (
  channel integer not null references channels on delete cascade,
  product text not null references products,
  primary key (channel, product)
);

create table tickets (
  id           uuid primary key default gen_random_uuid(),
  product      text not null references products,
  state        text not null default 'created' check (state in ('created', 'active')),
  created_at   timestamptz not null default now(),
  activated_at timestamptz
);

-- What happened to a ticket, for the accounts.
create table ticket_events (
  ticket uuid not null references tickets,
  kind   text not null,
  at     timestamptz not null default now()
);

-- What validators decided.
create table decisions (
  validator text not null,
  ticket    text not null,
  access    boolean not null,
  at        timestamptz not null default now()
);

insert into products values
  ('OneHour', 'One hour', 280, 60),
  ('OneDay', 'One day', 790, 24 * 60),
  ('OneWeek', 'One week', 2900, 7 * 24 * 60),
  ('OneYear', 'One year', 73200, 365 * 24 * 60);

insert into channels values (123, 'Station machines');
select setval('channels_id_seq', 123);
insert into channel_products select 123, id from products;

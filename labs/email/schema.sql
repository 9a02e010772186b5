create extension pg_stat_statements;
create table subscribers (id serial primary key, topic int not null, address text not null);
create table changes (id serial primary key, topic int not null, title text not null, created_at timestamptz not null default now(), matched_at timestamptz);
create table emails (
  id serial primary key, change_id int not null, subscriber_id int not null, body text,
  created_at timestamptz not null default now(), generated_at timestamptz, delivered_at timestamptz
);
create index on subscribers (topic);
create index on changes (matched_at);
create index on emails (created_at);
create index on emails (generated_at);
insert into subscribers (topic, address) select topic, topic || '-' || n || '@example.org' from generate_series(1, 50) topic, generate_series(1, 40) n order by topic, n;
-- What was published in earlier years.
insert into changes (topic, title, created_at) select 1 + n % 50, 'Guidance ' || md5(n::text), now() - interval '1 year' from generate_series(1, 60000) n;
analyze;

create table customers (
  id            serial primary key,
  name          text not null unique,
  password_salt bytea not null,
  password_hash bytea not null
);

create table sessions (
  token       uuid primary key default gen_random_uuid(),
  customer_id integer not null references customers,
  created_at  timestamptz not null default now()
);

create table products (
  id          serial primary key,
  name        text not null,
  price_cents integer not null
);

create table orders (
  id          bigserial primary key,
  customer_id integer not null references customers,
  product_id  integer not null references products,
  amount      integer not null check (amount between 1 and 100),
  state       text not null default 'open',
  created_at  timestamptz not null default now()
);

create index orders_of_customer on orders (customer_id, id desc);

insert into products (name, price_cents)
select format('Product %s', n), 100 + n * 37 % 5000 from generate_series(1, 50) as n;

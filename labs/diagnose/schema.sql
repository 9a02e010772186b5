create table products (id int primary key, code text not null, name text not null, category text not null, price int not null, stock int not null);
create table orders (id bigserial primary key, product int not null, at timestamptz not null default now());
insert into products
select id, 'P' || id, 'Product ' || id || repeat('.', 100), 'C' || id % 7, id % 90 + 10, 1000000 from generate_series(1, 1000) as id;
create index products_code on products (code);

create database payments;
use payments;
create table accounts (id bigint primary key, currency char(3) not null);
create table payment_methods (account_id bigint primary key, token varchar(40) not null);
create table subscriptions (account_id bigint primary key, plan varchar(20) not null);
create table limits (account_id bigint primary key, daily_limit bigint not null);
create table prices (plan varchar(20) primary key, price bigint not null);
create table taxes (currency char(3) primary key, rate int not null);
create table routes (currency char(3) primary key, merchant varchar(40) not null);
insert into prices values ('basic', 799), ('plus', 1299), ('family', 1799);
insert into taxes values ('EUR', 19), ('USD', 0);
insert into routes values ('EUR', 'merchant-eu'), ('USD', 'merchant-us');
insert into accounts select seq, if(seq % 2 = 0, 'EUR', 'USD') from seq_1_to_5000;
insert into payment_methods select seq, concat('token-', seq) from seq_1_to_5000;
insert into subscriptions select seq, elt(1 + seq % 3, 'basic', 'plus', 'family') from seq_1_to_5000;
insert into limits select seq, 100000 from seq_1_to_5000;
create table payments (
  id bigint primary key, account_id bigint not null, amount bigint not null, status varchar(20) not null,
  created_at timestamp not null default now(), key (status, created_at));
create table idempotency_keys (id varchar(60) primary key, payment_id bigint not null);
create table attempts (id bigint primary key, payment_id bigint not null, status varchar(20) not null, key (payment_id));
create table gateway_responses (attempt_id bigint primary key, reference varchar(80) not null);
create table ledger (
  id bigint auto_increment primary key, payment_id bigint not null, side varchar(6) not null, amount bigint not null, key (payment_id));
create table events (id bigint auto_increment primary key, payment_id bigint not null, kind varchar(40) not null);
create user payments;
grant all on payments.* to payments;
create user watcher;
grant process on *.* to watcher;
grant select on performance_schema.* to watcher;
create user capture;
grant replication slave, replication client, binlog monitor on *.* to capture;

"""SQL: what CREATE statements of several dialects define."""

from __future__ import annotations

import time

from lurcher.chunking.code import parse
from tests.languages.samples import Sample, check

SAMPLES = {
    "sql": Sample(
        source="""
-- words
CREATE TABLE IF NOT EXISTS app.users (
  id SERIAL PRIMARY KEY,
  name VARCHAR(20) NOT NULL,
  CONSTRAINT fk FOREIGN KEY (id) REFERENCES other(id)
);
CREATE UNIQUE INDEX users_name ON app.users (name);
CREATE OR REPLACE VIEW active AS SELECT * FROM users WHERE active;
CREATE MATERIALIZED VIEW totals AS SELECT count(*) FROM users;
CREATE OR REPLACE FUNCTION add_user(n text, m int DEFAULT 1) RETURNS integer AS $$
BEGIN
  INSERT INTO users(name) VALUES (n);
  RETURN 1;
END;
$$ LANGUAGE plpgsql;
CREATE PROCEDURE clean() LANGUAGE SQL AS $$ DELETE FROM users; $$;
CREATE TRIGGER t BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION add_user();
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE SCHEMA app;
CREATE SEQUENCE seq;
/* block */
ALTER TABLE users ADD COLUMN age int;
CREATE TABLE "Odd Name" (a int);
CREATE TABLE `tick` (`b` int);
CREATE TABLE [dbo].[X] (a int);
SELECT 1;
CREATE EXTENSION x; CREATE ROLE bob; CREATE DATABASE d; CREATE POLICY p ON users;
GO
CREATE PROC dbo.DoIt @a INT AS BEGIN SELECT 1 END
GO
""",
        definitions="""
table app.users
field app.users.id
field app.users.name
index users_name
view active
view totals
function add_user
procedure clean
trigger t
type mood
module app
variable seq
table Odd Name
field Odd Name.a
table tick
field tick.b
table dbo.X
field dbo.X.a
procedure dbo.DoIt
""",
        signatures={
            "users": "CREATE TABLE IF NOT EXISTS app.users",
            "active": "CREATE OR REPLACE VIEW active",
            "add_user": "CREATE OR REPLACE FUNCTION add_user(n text, m int DEFAULT 1) RETURNS integer AS $$",
            "clean": "CREATE PROCEDURE clean() LANGUAGE SQL AS $$ DELETE FROM users; $$",
            "DoIt": "CREATE PROC dbo.DoIt @a INT AS BEGIN SELECT 1 END",
            "mood": "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        },
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_routines_of_dialects_that_the_grammar_does_not_know() -> None:
    source = """
DELIMITER //
CREATE DEFINER=`root`@`localhost` PROCEDURE `shop`.`add_item`(IN a INT)
BEGIN
  INSERT INTO items VALUES (a);
END //
DELIMITER ;
CREATE OR REPLACE PACKAGE BODY pay AS
  PROCEDURE run IS BEGIN NULL; END;
END pay;
/
ALTER PROCEDURE [dbo].[Clean] AS
BEGIN
  DELETE FROM items
END
GO
-- CREATE PROCEDURE no() AS
SELECT 'CREATE PROCEDURE neither';
"""
    found = parse(source.encode(), "sql").definitions
    assert [(entry.kind, entry.qualified) for entry in found if entry.kind != "field"] == [
        ("procedure", "shop.add_item"),
        ("module", "pay"),
        ("procedure", "dbo.Clean"),
    ]
    lines = source.split("\n")
    (item, _, clean) = [entry for entry in found if entry.kind != "field"]
    assert lines[item.end_line - 1] == "END //"
    assert lines[clean.end_line - 1] == "END"


def test_many_routines_without_an_end_take_no_time() -> None:
    begun = time.process_time()
    parse(b"CREATE PROCEDURE p AS $$ x\n" * 20_000, "sql")
    assert time.process_time() - begun < 20

from __future__ import annotations

import time

import pytest

from lurcher.corpora.history.build import defined_names, heading_name


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("def follow_redirects(self, request):", "follow_redirects"),
        ("    async def send(self):", "send"),
        ("class Client(Base):", "Client"),
        ("func (p *Pool) Acquire(address string) (*Conn, error) {", "Acquire"),
        ("func dial(address string) error {", "dial"),
        ("pub fn evict(&mut self, now: u64) -> usize {", "evict"),
        ("impl<'a> Cache<'a> {", "Cache"),
        ("impl Display for Cache {", "Display"),
        ("static struct node *next_node(struct list *all)", "next_node"),
        ("void freeModule(struct RedisModule *module) {", "freeModule"),
        ("struct redisServer {", "redisServer"),
        ("typedef struct clusterState {", "clusterState"),
        ("std::size_t Buffer::write(const char *data, std::size_t length)", "Buffer::write"),
        ("public function handle($request, Closure $next)", "handle"),
        ("protected static int parse(String text) throws IOException {", "parse"),
        ("export default function useThing(options) {", "useThing"),
        ("module.exports = function createApplication() {", "createApplication"),
        ("  def self.call(env)", "call"),
        ("defmodule Plug.Conn do", "Plug.Conn"),
        ("proc start_server {options} {", "start_server"),
        ("if (x > 1) {", ""),
        ("## Configuration", ""),
        ("", ""),
    ],
)
def test_the_name_behind_the_at_signs(heading: str, name: str) -> None:
    assert heading_name(heading) == name


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("python", "x = 1\n@marked\ndef alpha(a):\n    pass\nclass Beta:\n    def gamma(x): 1\n", ["alpha", "Beta", "gamma"]),
        ("python", "# class of things\nreturn define\n", []),
        ("c", "int main(int argc, char **argv) {\n    return call(argc);\n}\n", ["main"]),
        ("c", "static void helper(void);\n    if (x) {\n", []),
        ("java", "    public List<String> names(int limit) {\n        return other(limit);\n", ["names"]),
        ("javascript", "const load = async (id) => {\nexport function save() {}\nlet x = 1\n", ["save", "load"]),
        ("rust", "pub(crate) fn one() {}\n    struct Two;\n", ["one", "Two"]),
        ("go", "func (s *Server) Serve() {\ntype Handler interface {\n", ["Serve", "Handler"]),
    ],
)  # fmt: skip
def test_names_that_lines_define(language: str, text: str, names: list[str]) -> None:
    assert defined_names(text, language) == names


@pytest.mark.parametrize("text", ["a " * 10_000, "public " * 3000, "f(" * 10_000, "(" * 20_000, "a::" * 6000, "x<" * 9000])
@pytest.mark.parametrize("language", ["c", "java", "typescript", "python"])
def test_no_text_takes_long(language: str, text: str) -> None:
    begun = time.process_time()
    for line in (text[:2000], "static " + text[:1990]):
        defined_names("\n".join([line] * 10), language)
        heading_name(line[:80])
    assert time.process_time() - begun < 5

"""Where the module stands among nginx's: before limit_req and limit_conn, and before add_header."""

import unittest

from harness import STATIC_NGINX, NginxTest, server_block

OURS = "ratecell_zone $arg_k zone=ours:32k rate=1r/m;"


class Order:
    static = False

    def test_before_limit_req(self):
        """What is refused here is not charged there; what is refused there is charged here."""
        nginx = self.serve(
            OURS + "limit_req_zone $arg_j zone=theirs:32k rate=1r/m;"
            + server_block("location / { empty_gif; ratecell zone=ours; ratecell_status 429; limit_req zone=theirs; }"),
            static=self.static)
        found = [nginx.status(f"/?k={k}&j={j}") for k, j in ((1, 1), (1, 2), (2, 2), (3, 1), (3, 3))]
        self.assertEqual(found, [200, 429, 200, 503, 429])

    def test_before_limit_conn(self):
        """A request that is delayed is no connection yet."""
        nginx = self.serve(
            OURS.replace("1r/m", "5r/s") + "limit_conn_zone $arg_k zone=theirs:32k;"
            + server_block("location / { empty_gif; ratecell zone=ours burst=3; limit_conn theirs 1; }"),
            static=self.static)
        self.assertEqual(nginx.load(lambda _: ["/?k=1"], clients=4), {200: 4})

    def test_fields_before_add_header(self):
        nginx = self.serve(
            OURS + server_block("location / { empty_gif; ratecell zone=ours; ratecell_headers on;"
                                "add_header Again $sent_http_ratelimit; }"), static=self.static)
        response = nginx.get("/?k=1")
        self.assertIsNotNone(response.header("RateLimit"))
        self.assertEqual(response.header("Again"), response.header("RateLimit"))


class Loaded(Order, NginxTest):
    pass


if STATIC_NGINX:
    class BuiltIn(Order, NginxTest):
        static = True


if __name__ == "__main__":
    unittest.main()

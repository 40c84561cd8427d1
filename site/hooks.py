"""The links of the documents: to a page of the site where there is one, and otherwise to the repository."""

import posixpath
import re

REPOSITORY = "https://github.com/ratecell/ratecell/blob/main/"
# Of a link in text or of its definition below, the address without its fragment.
LINK = re.compile(r"(?P<before>\]\(|^\[[^\]\n]+\]: )(?P<path>[^)#\s]+)", re.MULTILINE)
FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)


def slugify(text, separator):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)


def block(text):
    """A block of code without what is for rustdoc alone: its words after the language, and its hidden lines."""
    text = re.sub(r"\A```(\w*)\S*", r"```\1", text)
    return re.sub(r"^#( .*)?\n", "", text, flags=re.MULTILINE) if text.startswith("```rust") else text


def on_page_markdown(markdown, page, config, files):
    """Blocks of code are left as they are."""
    folder = posixpath.dirname(page.file.src_uri)

    def link(match):
        path = match["path"]
        if path.startswith(REPOSITORY):
            target = path.removeprefix(REPOSITORY)
        elif "://" in path or path.startswith(("mailto:", "<")):
            return match[0]
        else:
            target = posixpath.normpath(posixpath.join(folder, path))
        for name in (target, posixpath.join(target, "README.md")):
            if files.get_file_from_path(name):
                return match["before"] + posixpath.relpath(name, folder or ".")
        return match["before"] + REPOSITORY + target

    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(link, part) for part in parts[::2]]
    parts[1::2] = [block(part) for part in parts[1::2]]
    return "".join(parts)

package ratecell

/*
#include "library.h"
*/
import "C"

import (
	"fmt"
	"strings"
)

// Style is the fields that tell a client its limits: one of these, or several joined by |, of which no two may write a
// field of the same name.
type Style uint32

const (
	// StyleDraft11: RateLimit-Policy: "name";q=100;w=60 and RateLimit: "name";r=50;t=30
	// (draft-ietf-httpapi-ratelimit-headers-11).
	StyleDraft11 Style = C.RATECELL_STYLE_DRAFT11
	// StyleDraft07: the same fields by draft -07.
	StyleDraft07 Style = C.RATECELL_STYLE_DRAFT07
	// StyleDraft06: RateLimit-Policy, RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset by draft -06.
	StyleDraft06 Style = C.RATECELL_STYLE_DRAFT06
	// StyleDraft03: RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset by the drafts -03 to -05.
	StyleDraft03 Style = C.RATECELL_STYLE_DRAFT03
	// StyleX: X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset, in seconds from now.
	StyleX Style = C.RATECELL_STYLE_X
	// StyleXUnix: the same fields, X-RateLimit-Reset in seconds since 1970.
	StyleXUnix Style = C.RATECELL_STYLE_X_UNIX
	// StyleGitHub: as StyleXUnix, and X-RateLimit-Used.
	StyleGitHub Style = C.RATECELL_STYLE_GITHUB
	// StyleTwitter: X-Rate-Limit-Limit, X-Rate-Limit-Remaining and X-Rate-Limit-Reset, in seconds since 1970.
	StyleTwitter Style = C.RATECELL_STYLE_TWITTER
	// StyleKong: RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset, and the first two as
	// X-RateLimit-Limit-Minute and so on.
	StyleKong Style = C.RATECELL_STYLE_KONG
)

// In the order of their bits.
var styleNames = [...]string{
	"draft11", "draft07", "draft06", "draft03", "x", "x_unix", "github", "twitter", "kong",
}

// String is the styles' names joined by |, such as "draft11|x_unix".
func (s Style) String() string {
	var names []string
	for i, name := range styleNames {
		if bit := Style(1) << i; s&bit != 0 {
			names = append(names, name)
			s &^= bit
		}
	}
	if s != 0 || len(names) == 0 {
		names = append(names, fmt.Sprintf("Style(%d)", uint32(s)))
	}
	return strings.Join(names, "|")
}

// ParseStyle reads a style by its name: draft11, draft07, draft06, draft03, x, x_unix, github, twitter or kong; or
// several, joined by |. The error is of a name that is none, and of styles that cannot be sent together.
func ParseStyle(names string) (Style, error) {
	var styles Style
	for _, name := range strings.Split(names, "|") {
		bit := Style(0)
		for i, known := range styleNames {
			if name == known {
				bit = 1 << i
			}
		}
		if bit == 0 {
			return 0, fmt.Errorf("ratecell: the style %q: expected one of %s", name, strings.Join(styleNames[:], ", "))
		}
		styles |= bit
	}
	return styles, styles.check()
}

// check is the error of styles that no response can have.
func (s Style) check() error {
	status := C.ratecell_fields(C.uint32_t(s), nil, 0, 0, nil, 0)
	if status < 0 {
		return &Error{
			Status: Status(status),
			Text:   fmt.Sprintf("the styles %v: expected one or more, no two of which write a field of the same name", s),
		}
	}
	return nil
}

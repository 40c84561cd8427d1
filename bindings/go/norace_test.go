//go:build !race

package ratecell

const raceDetector = false

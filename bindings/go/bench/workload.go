package main

/*
static int nothing(const char *key, int len) { (void)key; return len >= 0; }
*/
import "C"

import (
	"fmt"
	"math/rand"
)

// nothing is the least that any call into C costs.
func nothing(string) bool {
	return C.nothing(nil, 0) != 0
}

// workload is so many keys, in the order in which they are asked for and in another in which they are made known.
// They lie in memory in the first, as what a server has just read does: what misses the caches is the state of a
// key and not the key, and no contender has its states in the order in which they are asked for.
func workload(count int) (keys, other []string) {
	random := rand.New(rand.NewSource(1))
	keys = make([]string, count)
	for i, number := range random.Perm(count) {
		keys[i] = fmt.Sprintf("user:%08d", number)
	}
	other = append(other, keys...)
	random.Shuffle(count, func(i, j int) { other[i], other[j] = other[j], other[i] })
	return keys, other
}

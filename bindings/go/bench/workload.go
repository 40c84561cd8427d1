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

// workload is so many keys, and an order in which each comes once, and then again: no cache and no predictor
// knows the next.
func workload(count int) (keys []string, order []uint32) {
	keys, order = make([]string, count), make([]uint32, count)
	for i, at := range rand.New(rand.NewSource(1)).Perm(count) {
		keys[i] = fmt.Sprintf("user:%08d", i)
		order[i] = uint32(at)
	}
	return keys, order
}

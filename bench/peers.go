package main

func (b *bench) peerContenders() []contender { return nil }

package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db/dbtest/pgserver"
)

// database creates an empty database on a private PostgreSQL server, which the
// first call starts with its default, durable settings.
func (b *bench) database() (url string, err error) {
	if b.postgres == nil {
		// 300 connections are room for several programs at once, nothing else.
		if b.postgres, err = pgserver.Start("max_connections=300", "shared_preload_libraries='pg_stat_statements'", "pg_stat_statements.track=none"); err != nil {
			return "", err
		}
	}
	b.databases++
	name := fmt.Sprintf("bench%d", b.databases)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, b.postgres.URL("postgres"))
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "CREATE DATABASE "+name)
	return b.postgres.URL(name), err
}

// postgresCommits measures what PostgreSQL gives here: callers that each insert
// one small row again and again, synced, on a connection of their own.
func (b *bench) postgresCommits(callers int, limit time.Duration) (*load, error) {
	url, err := b.database()
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	conns := make([]*pgx.Conn, callers)
	for i := range conns {
		if conns[i], err = pgx.Connect(ctx, url); err != nil {
			return nil, err
		}
		defer conns[i].Close(ctx)
	}
	if _, err := conns[0].Exec(ctx, "CREATE TABLE rows (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body TEXT NOT NULL)"); err != nil {
		return nil, err
	}
	l := &load{}
	var mu sync.Mutex
	var all sync.WaitGroup
	begun := time.Now()
	for _, conn := range conns {
		all.Go(func() {
			var times []time.Duration
			for time.Since(begun) < limit {
				at := time.Now()
				if _, err := conn.Exec(ctx, "INSERT INTO rows (body) VALUES ($1)", "a row of about the length of what a run says of itself"); err != nil {
					break
				}
				times = append(times, time.Since(at))
			}
			mu.Lock()
			defer mu.Unlock()
			l.times = append(l.times, times...)
		})
	}
	all.Wait()
	l.took = time.Since(begun)
	slices.Sort(l.times)
	return l, nil
}

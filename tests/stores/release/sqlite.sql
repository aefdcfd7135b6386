BEGIN TRANSACTION;
CREATE TABLE actions (seq INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL);
INSERT INTO "actions" VALUES(1,'{"at":1.0,"by":"ann","known_by":"typed","what":"golden_approved","subject":"a/1","detail":""}');
INSERT INTO "actions" VALUES(2,'{"at":2.0,"by":"bob","known_by":"token","what":"golden_retired","subject":"b","detail":""}');
CREATE TABLE change_responses (change TEXT PRIMARY KEY, at REAL NOT NULL);
INSERT INTO "change_responses" VALUES('c1',7.25);
CREATE TABLE golden_runs (
                 seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, route TEXT NOT NULL,
                 body TEXT NOT NULL);
INSERT INTO "golden_runs" VALUES(1,'r0','shop','{"id": "r0", "route": "shop", "at": 1.5, "trigger": "canary", "change": "", "asked": "a", "model": "m", "deciding": ["x"], "scorer": "s", "judged": false, "results": [], "left_out": {}}');
INSERT INTO "golden_runs" VALUES(2,'r1','forms','{"id": "r1", "route": "forms", "at": 1.5, "trigger": "canary", "change": "", "asked": "a", "model": "m", "deciding": ["x"], "scorer": "s", "judged": false, "results": [], "left_out": {}}');
CREATE TABLE golden_trail (
                 seq INTEGER PRIMARY KEY AUTOINCREMENT, golden_id TEXT NOT NULL, body TEXT NOT NULL);
INSERT INTO "golden_trail" VALUES(1,'a/1','{"golden_id": "a/1", "version": 1, "deed": "approved", "by": "ann", "at": 10.0, "model": null, "prompt_version": null}');
INSERT INTO "golden_trail" VALUES(2,'a/1','{"golden_id": "a/1", "version": 2, "deed": "approved", "by": "bob", "at": 11.0, "model": null, "prompt_version": null}');
INSERT INTO "golden_trail" VALUES(3,'b','{"golden_id": "b", "version": 1, "deed": "approved", "by": "ann", "at": 12.0, "model": null, "prompt_version": null}');
INSERT INTO "golden_trail" VALUES(4,'b','{"golden_id": "b", "version": 1, "deed": "retired", "by": "bob", "at": 13.0, "model": null, "prompt_version": null}');
CREATE TABLE goldens (
                 seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, version INTEGER NOT NULL,
                 route TEXT NOT NULL, task TEXT, retired INTEGER NOT NULL, body BLOB NOT NULL,
                 UNIQUE (id, version));
INSERT INTO "goldens" VALUES(1,'a/1',1,'shop','qa',0,X'789C6590D16E83300C457FA5CAF354CAEB3EA03FB14E9107DE881AE234366C15E2DF6B53109BF678CF71AC1B4F2EB4EEF5E0A0AADDCBC18D58385052526B2A34089AE58EB2E90CD259AEC6BA6A3A90AAA13E47147DC2E60BDE0664B191E9E2E0627B661390F81B8BC6C909FE2C03671ACAD19C1045DF408CACF8ED5D494F2D460D69885123DF59B0F79F217D61C92524D99DC2C09D2F08BCD45E712E5A4CBCD01513EF78AFFB57CD5603F86ABD6EE0FE5758F7EDE75939643523B6FEE3BE5C3125F79B8235AD4FC793C244CF5B3EEF24A16CAFD6551B83ED77F3030B5084B8');
INSERT INTO "goldens" VALUES(2,'a/1',2,'shop','qa',0,X'789C6590D14EC3300C457F65CA335AE91EF9007E82A1C86D0D8D96C659EC16A6AAFF8EBDB52A88B7DC73E2E8C6B30B9D7B3938A86AF7747013160E94949C34151A05CD724FD97406E92D57535DB53D48D5D290238A8EB0F982D71159ECCA7C7670D643BD9880C45F5834CE4EF0FB7EE1354C78342744D1B710232B7E7B5732508751431A63D4C837161CFC47489F5872094976A73070EF0B02DF6BAF38172D265EE8828977BCD7FDAB16AB017CB15E5770FF2BACEFEDEB593964351376BEB9D96C438DFB4DC19AD6F5F15961A2C72E1F7B9250B6A9F5A98DC1F6BBE507F5CE849E');
INSERT INTO "goldens" VALUES(3,'b',1,'forms',NULL,1,X'789C5D90D16E83300C457FA5CAF304A57BDB9F4CD314057047D41067B661AB10FF3E07D0D2EDF19E6347375E8CEFCDCBC9B4E6E9646620F61835379A082781ECAE4823679F9C0C19D47353778393BAC3310510DDD93CC1E7042C796459337091BF80342F46E07B13AFC0555682186CE74260A56FEF4A46EC21688853081AF9CE02A3BDFAF80194C847294EA1E7C11238DEEA1E3891F6112B7883C80597967FD59A6B38BE95C97F158EF7CA590EEE929A197ADBDEF3975C8CE691BADCB4B954678511F71BEEE7114FBF5B2DB68F705F7AAECEEB0F106381DD');
CREATE TABLE label_texts (verdict_id TEXT PRIMARY KEY, body BLOB NOT NULL);
INSERT INTO "label_texts" VALUES('v1',X'789CC5CE610AC2300C05E0BBE4774FD0AB8894D2665ACC929A46D918BBBB2D63A027F0E7FB1E246F83AA3257030F151CBCA396C8233D7B529C50911382DFC07019BE7437110A291235F097AB83593212787E1139686B339CC354F8865AB58C6B47D3A9B47B508C4DF8C4E37D307920B7135337422BC23FC5DE9BC8B9E468DF93D67F4EDA3FBDBE748C');
CREATE TABLE labels (
                 seq INTEGER PRIMARY KEY AUTOINCREMENT, verdict_id TEXT NOT NULL, by TEXT NOT NULL,
                 version INTEGER NOT NULL, route TEXT NOT NULL, counts INTEGER NOT NULL, body TEXT NOT NULL,
                 UNIQUE (verdict_id, by, version));
INSERT INTO "labels" VALUES(1,'v1','ann',1,'shop',1,'{"verdict_id":"v1","by":"ann","version":1,"rating":1,"quality":null,"note":"","drawn":false,"at":5.0,"withdrawn_at":null,"exchange_id":"e","route":"shop","model":"m","perturbation":"general.casing","severity":0.0,"task":null,"wanted_format":null,"wanted_language":null,"scored_at":1.0,"judge_model":"","rated_by":"","decided_by":"judge","judge_rating":2,"judge_direction":null,"judge_looked":false,"explanation":"because","quality_scores":[],"details":{}}');
INSERT INTO "labels" VALUES(2,'v1','ann',2,'shop',1,'{"verdict_id":"v1","by":"ann","version":2,"rating":2,"quality":null,"note":"on reflection","drawn":false,"at":5.0,"withdrawn_at":null,"exchange_id":"e","route":"shop","model":"m","perturbation":"general.casing","severity":0.0,"task":null,"wanted_format":null,"wanted_language":null,"scored_at":1.0,"judge_model":"","rated_by":"","decided_by":"judge","judge_rating":2,"judge_direction":null,"judge_looked":false,"explanation":"because","quality_scores":[],"details":{}}');
INSERT INTO "labels" VALUES(3,'v1','bob',1,'shop',1,'{"verdict_id":"v1","by":"bob","version":1,"rating":3,"quality":null,"note":"","drawn":false,"at":5.0,"withdrawn_at":null,"exchange_id":"e","route":"shop","model":"m","perturbation":"general.casing","severity":0.0,"task":null,"wanted_format":null,"wanted_language":null,"scored_at":1.0,"judge_model":"","rated_by":"","decided_by":"judge","judge_rating":2,"judge_direction":null,"judge_looked":false,"explanation":"because","quality_scores":[],"details":{}}');
INSERT INTO "labels" VALUES(4,'v1','bob',2,'shop',0,'{"verdict_id":"v1","by":"bob","version":2,"rating":3,"quality":null,"note":"","drawn":false,"at":5.0,"withdrawn_at":9.0,"exchange_id":"e","route":"shop","model":"m","perturbation":"general.casing","severity":0.0,"task":null,"wanted_format":null,"wanted_language":null,"scored_at":1.0,"judge_model":"","rated_by":"","decided_by":"judge","judge_rating":2,"judge_direction":null,"judge_looked":false,"explanation":"because","quality_scores":[],"details":{}}');
CREATE TABLE sampling_overrides (
                 route TEXT PRIMARY KEY, rate REAL NOT NULL, until REAL NOT NULL, change TEXT NOT NULL);
INSERT INTO "sampling_overrides" VALUES('shop',0.123456789012345,1.89345600012345600124e+09,'c1');
CREATE TABLE settings_versions (fingerprint TEXT PRIMARY KEY, body TEXT NOT NULL);
INSERT INTO "settings_versions" VALUES('fp','{"a": "b"}');
CREATE TABLE templates (id INTEGER PRIMARY KEY, state TEXT NOT NULL);
INSERT INTO "templates" VALUES(1,'{"format":1,"routes":{"shop":{"requests":12,"clusters":[],"versions":[]}}}');
CREATE INDEX goldens_route ON goldens (route, seq);
CREATE INDEX golden_trail_golden ON golden_trail (golden_id, seq);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('goldens',3);
INSERT INTO "sqlite_sequence" VALUES('golden_trail',4);
INSERT INTO "sqlite_sequence" VALUES('labels',4);
INSERT INTO "sqlite_sequence" VALUES('actions',2);
INSERT INTO "sqlite_sequence" VALUES('golden_runs',2);
COMMIT;
